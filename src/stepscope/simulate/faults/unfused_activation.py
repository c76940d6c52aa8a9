"""Each power, product and tanh of the activation is a kernel that reads and writes all of it."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, gelu_split=8)


FAULT = Fault(
    name="unfused-activation",
    summary="The activation function is written out operation by operation.",
    raises=("compute_ns",),
    apply=_apply,
)
