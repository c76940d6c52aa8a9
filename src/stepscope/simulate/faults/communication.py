"""Faults of collectives and of links."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _exposed_comm(job: SimJob) -> SimJob:
    """No compute is left that could overlap with the collectives."""
    return replace(job, ranks=max(2, job.ranks), overlap_comm=False)


EXPOSED_COMM = Fault(
    name="exposed-comm",
    summary="Gradients are reduced only after the whole backward.",
    raises=("exposed_comm_ns", "dependency"),
    apply=_exposed_comm,
    ranks=2,
)


def _small_buckets(job: SimJob) -> SimJob:
    """Each collective pays its fixed latency."""
    return replace(job, ranks=max(2, job.ranks), bucket_bytes=64 << 10)


SMALL_BUCKETS = Fault(
    name="small-buckets",
    summary="Gradients are reduced in many small collectives.",
    raises=("exposed_comm_ns", "host dispatch: runtime call", "host dispatch: op overhead"),
    apply=_small_buckets,
    ranks=2,
)


def _slow_link(job: SimJob) -> SimJob:
    """A wrong transport or a broken cable."""
    return replace(
        job,
        ranks=max(2, job.ranks),
        link_bandwidth=job.link_bandwidth / 10,
        network_bandwidth=job.network_bandwidth / 10,
    )


SLOW_LINK = Fault(
    name="slow-link",
    summary="The link between ranks is ten times slower than it should be.",
    raises=("exposed_comm_ns",),
    apply=_slow_link,
    ranks=2,
)

FAULTS = (EXPOSED_COMM, SMALL_BUCKETS, SLOW_LINK)
