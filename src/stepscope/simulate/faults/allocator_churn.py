"""As ``torch.cuda.empty_cache()`` in the training loop: each step takes its memory anew."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, empty_cache=True)


FAULT = Fault(
    name="allocator-churn",
    summary="Cached device memory is given back to the driver after every step.",
    raises=("allocation",),
    apply=_apply,
)
