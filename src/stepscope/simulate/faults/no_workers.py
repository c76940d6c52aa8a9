"""The main thread loads each batch itself, so that nothing overlaps with it."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, workers=0)


FAULT = Fault(
    name="no-workers",
    summary="Batches are loaded in the main thread.",
    raises=("data wait",),
    apply=_apply,
)
