"""Collections of several ms, every few hundred operators."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, gc_interval_ops=150, gc_pause_ns=8_000_000)


FAULT = Fault(
    name="gc-pauses",
    summary="Python collects garbage in the middle of steps.",
    raises=("host dispatch: gc",),
    apply=_apply,
)
