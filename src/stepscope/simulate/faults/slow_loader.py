"""Loading a batch takes twenty times as long, with few workers."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, load_ns=20 * job.load_ns, workers=min(job.workers, 2), prefetch=1)


FAULT = Fault(
    name="slow-loader",
    summary="The loader needs far longer for a batch than a step takes.",
    raises=("data wait",),
    apply=_apply,
)
