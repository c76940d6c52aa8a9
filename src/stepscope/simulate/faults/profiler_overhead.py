"""A recording that disturbs what it records."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, buffer_flush_ops=100)


FAULT = Fault(
    name="profiler-overhead",
    summary="The profiler stops the host for new buffers.",
    raises=("profiler overhead",),
    apply=_apply,
)
