"""Faults of the data loader."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _no_workers(job: SimJob) -> SimJob:
    """The main thread loads each batch itself, so that nothing overlaps with it."""
    return replace(job, workers=0)


NO_WORKERS = Fault(
    name="no-workers",
    summary="Batches are loaded in the main thread.",
    raises=("data wait",),
    apply=_no_workers,
)


def _slow_loader(job: SimJob) -> SimJob:
    """Loading a batch takes twenty times as long, with few workers."""
    return replace(job, load_ns=20 * job.load_ns, workers=min(job.workers, 2), prefetch=1)


SLOW_LOADER = Fault(
    name="slow-loader",
    summary="The loader needs far longer for a batch than a step takes.",
    raises=("data wait",),
    apply=_slow_loader,
)


def _loader_jitter(job: SimJob) -> SimJob:
    """Load times spread widely and few workers level them out."""
    return replace(job, load_jitter=1.2, workers=max(1, min(job.workers, 2)), load_ns=2 * job.load_ns)


LOADER_JITTER = Fault(
    name="loader-jitter",
    summary="Some batches take several times as long to load as others.",
    raises=("data wait",),
    apply=_loader_jitter,
)

FAULTS = (NO_WORKERS, SLOW_LOADER, LOADER_JITTER)
