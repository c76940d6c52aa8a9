"""As CUDA_LAUNCH_BLOCKING=1 or a debugging aid left in the code."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, sync_every_op=True)


FAULT = Fault(
    name="sync-every-op",
    summary="The host waits for the device after every kernel it launches.",
    raises=("synchronisation",),
    apply=_apply,
)
