"""What a fault is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
