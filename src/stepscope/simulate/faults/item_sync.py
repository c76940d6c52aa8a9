"""Two ``.item()`` calls per layer make the host wait for the device each time."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, items_per_step=job.items_per_step + 2 * job.layers)


FAULT = Fault(
    name="item-sync",
    summary="The model reads numbers from the device in the middle of the step.",
    raises=("synchronisation",),
    apply=_apply,
)
