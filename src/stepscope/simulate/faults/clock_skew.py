"""The job is as fast as before; only timestamps of different hosts do not compare."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    network = job.network_bandwidth if job.ranks > job.ranks_per_host else job.link_bandwidth
    return replace(job, ranks=max(2, job.ranks), ranks_per_host=1, clock_offset_ns=3_700_000, network_bandwidth=network)


FAULT = Fault(
    name="clock-skew",
    summary="The hosts' clocks disagree.",
    raises=(),
    apply=_apply,
    ranks=2,
)
