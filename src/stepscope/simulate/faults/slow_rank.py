"""Throttled or shared: every collective waits for it."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, ranks=max(2, job.ranks), slow_rank=max(2, job.ranks) - 1, slow_factor=4.0)


FAULT = Fault(
    name="slow-rank",
    summary="One rank's device is slower than the others.",
    raises=("exposed_comm_ns", "compute_ns"),
    apply=_apply,
    ranks=2,
)
