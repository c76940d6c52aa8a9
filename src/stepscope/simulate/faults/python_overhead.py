"""Hooks, logging or wrappers around every module."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, python_ns=8 * job.python_ns)


FAULT = Fault(
    name="python-overhead",
    summary="The code between operators is slow.",
    raises=("host dispatch: python",),
    apply=_apply,
)
