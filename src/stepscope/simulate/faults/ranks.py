"""Faults of one rank or stage among others."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault, piped
from stepscope.simulate.job import SimJob


def _slow_rank(job: SimJob) -> SimJob:
    """Throttled or shared: every collective waits for it."""
    return replace(job, ranks=max(2, job.ranks), slow_rank=max(2, job.ranks) - 1, slow_factor=4.0)


SLOW_RANK = Fault(
    name="slow-rank",
    summary="One rank's device is slower than the others.",
    raises=("exposed_comm_ns", "compute_ns"),
    apply=_slow_rank,
    ranks=2,
)


def _slow_host(job: SimJob) -> SimJob:
    """Its launches come late, and every collective waits for it."""
    return replace(job, ranks=max(2, job.ranks), slow_host_rank=max(2, job.ranks) - 1, slow_host_factor=4.0)


SLOW_HOST = Fault(
    name="slow-host",
    summary="One rank runs on a slower processor than the others.",
    raises=("exposed_comm_ns", "host dispatch: op overhead"),
    apply=_slow_host,
    ranks=2,
)


def _clock_skew(job: SimJob) -> SimJob:
    """Timestamps of different hosts are not comparable; the job is as fast as before."""
    network = job.network_bandwidth if job.ranks > job.ranks_per_host else job.link_bandwidth
    return replace(job, ranks=max(2, job.ranks), ranks_per_host=1, clock_offset_ns=3_700_000, network_bandwidth=network)


CLOCK_SKEW = Fault(
    name="clock-skew",
    summary="The hosts' clocks disagree.",
    raises=(),
    apply=_clock_skew,
    ranks=2,
)


def _few_micro_batches(job: SimJob) -> SimJob:
    """A pipeline's stages wait for each other at the beginning and the end of each step."""
    job = piped(job)
    return replace(job, micro_batches=max(1, job.micro_batches // 4))


FEW_MICRO_BATCHES = Fault(
    name="few-micro-batches",
    summary="A batch goes through the pipeline in too few parts.",
    raises=("exposed_comm_ns",),
    apply=_few_micro_batches,
    ranks=2,
)


def _uneven_stages(job: SimJob) -> SimJob:
    """The longest stage of a pipeline makes all others wait."""
    job = piped(job)
    last = job.last_stage_layers or job.layers // job.stages
    return replace(job, last_stage_layers=min(2 * last, job.layers - job.stages + 1))


UNEVEN_STAGES = Fault(
    name="uneven-stages",
    summary="The last stage of the pipeline has more layers than the others.",
    raises=("exposed_comm_ns",),
    apply=_uneven_stages,
    ranks=2,
)

FAULTS = (SLOW_RANK, SLOW_HOST, CLOCK_SKEW, FEW_MICRO_BATCHES, UNEVEN_STAGES)
