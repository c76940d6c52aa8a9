"""As a list of losses that still hold their graphs."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, leak_bytes=job.leak_bytes + (24 << 20))


FAULT = Fault(
    name="memory-leak",
    summary="Every step keeps some device memory.",
    raises=("allocation",),
    apply=_apply,
)
