"""Nothing in the recording says why the host stands still."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, pause_interval_ops=120, pause_ns=3_000_000)


FAULT = Fault(
    name="host-pauses",
    summary="The process is paused now and then, as by another one on the same core.",
    raises=("host dispatch: python",),
    apply=_apply,
)
