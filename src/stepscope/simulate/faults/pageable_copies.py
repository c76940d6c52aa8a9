"""The copy goes through a staging buffer and holds the host until it is done."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, pinned=False)


FAULT = Fault(
    name="pageable-copies",
    summary="Batches are copied from memory that is not page-locked.",
    raises=("synchronisation", "exposed_copy_ns"),
    apply=_apply,
)
