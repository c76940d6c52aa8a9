"""Nothing is left to overlap the collectives with."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, ranks=max(2, job.ranks), overlap_comm=False)


FAULT = Fault(
    name="exposed-comm",
    summary="Gradients are reduced only after the whole backward.",
    raises=("exposed_comm_ns", "dependency"),
    apply=_apply,
    ranks=2,
)
