"""As a timer around the step does."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, sync_each_step=True)


FAULT = Fault(
    name="step-sync",
    summary="The device is synchronised at the end of every step.",
    raises=("synchronisation",),
    apply=_apply,
)
