"""The description of a fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from stepscope.simulate.job import SimJob


@dataclass(frozen=True, slots=True)
class Fault:
    """A way a job can be slow.

    Attributes:
        name: as given on the command line.
        summary: one sentence: what is wrong with the job.
        raises: parts of the step budget or idle causes of which at least one must grow; empty when the
            recording alone is affected.
        apply: the job with the fault.
        ranks: smallest number of ranks on which it shows; ``apply`` sees to it.
    """

    name: str
    summary: str
    raises: tuple[str, ...]
    apply: Callable[[SimJob], SimJob]
    ranks: int = 1


def piped(job: SimJob) -> SimJob:
    """The job as a pipeline of two stages with 16 micro-batches, if it is none yet."""
    if job.stages > 1:
        return job
    job = replace(job, model="transformer", parallel="ddp", training=True, graph=False, recompute=False)
    ranks, layers = max(job.ranks + job.ranks % 2, 2), max(job.layers, 4)
    return replace(job, ranks=ranks, stages=2, micro_batches=16, batch=max(job.batch, 16), layers=layers)
