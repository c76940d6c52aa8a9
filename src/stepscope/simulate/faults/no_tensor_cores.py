"""Matrix products miss the tensor cores and everything moves twice the bytes."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, dtype="fp32")


FAULT = Fault(
    name="no-tensor-cores",
    summary="The model computes in fp32.",
    raises=("compute_ns",),
    apply=_apply,
)
