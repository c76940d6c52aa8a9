"""A launch per tensor and operation, instead of a few over lists of tensors."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, optimizer_impl="loop")


FAULT = Fault(
    name="unfused-optimizer",
    summary="The optimizer updates one tensor after the other.",
    raises=("host dispatch: op overhead", "host dispatch: runtime call", "launch latency"),
    apply=_apply,
)
