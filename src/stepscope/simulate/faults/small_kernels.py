"""Unfused activation, residual and attention: more launches for the same result."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, elementwise_split=4, gelu_split=8, attention="math")


FAULT = Fault(
    name="small-kernels",
    summary="Pointwise work is written as many small operators.",
    raises=("host dispatch: op overhead", "launch latency", "compute_ns"),
    apply=_apply,
)
