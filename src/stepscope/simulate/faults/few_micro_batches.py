"""A pipeline's stages wait for each other at the beginning and the end of each step."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault, piped
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    job = piped(job)
    return replace(job, micro_batches=max(1, job.micro_batches // 4))


FAULT = Fault(
    name="few-micro-batches",
    summary="A batch goes through the pipeline in too few parts.",
    raises=("exposed_comm_ns",),
    apply=_apply,
    ranks=2,
)
