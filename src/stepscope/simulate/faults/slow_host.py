"""Its launches come late, and every collective waits for it."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, ranks=max(2, job.ranks), slow_host_rank=max(2, job.ranks) - 1, slow_host_factor=4.0)


FAULT = Fault(
    name="slow-host",
    summary="One rank runs on a slower processor than the others.",
    raises=("exposed_comm_ns", "host dispatch: op overhead"),
    apply=_apply,
    ranks=2,
)
