"""Load times spread widely and few workers level them out."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, load_jitter=1.2, workers=max(1, min(job.workers, 2)), load_ns=2 * job.load_ns)


FAULT = Fault(
    name="loader-jitter",
    summary="Some batches take several times as long to load as others.",
    raises=("data wait",),
    apply=_apply,
)
