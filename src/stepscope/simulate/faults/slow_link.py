"""A wrong transport or a broken cable."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(
        job,
        ranks=max(2, job.ranks),
        link_bandwidth=job.link_bandwidth / 10,
        network_bandwidth=job.network_bandwidth / 10,
    )


FAULT = Fault(
    name="slow-link",
    summary="The link between ranks is ten times slower than it should be.",
    raises=("exposed_comm_ns",),
    apply=_apply,
    ranks=2,
)
