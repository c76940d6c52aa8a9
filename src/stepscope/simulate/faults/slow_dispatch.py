"""Cores that save power or are shared, or a debug build: every operator and launch takes far longer on the host."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, op_ns=8 * job.op_ns, launch_ns=5 * job.launch_ns)


FAULT = Fault(
    name="slow-dispatch",
    summary="The host takes far longer to dispatch an operator than the device takes to run it.",
    raises=("host dispatch: op overhead", "host dispatch: runtime call"),
    apply=_apply,
)
