"""Which cases there are: healthy jobs, each with one fault, and with pairs of faults."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import count

from bench.diagnosis.answers import ANSWERS
from bench.diagnosis.case import format_of, step_ns
from bench.diagnosis.families import Family, healthy_jobs, well_tuned, with_ranks
from bench.diagnosis.reality import real
from stepscope.simulate.faults import FAULTS
from stepscope.simulate.faults.fault import piped
from stepscope.simulate.job import SimJob

#: A fault that makes the step longer by less than this share is none for this job, and is not injected.
LEAST = 0.03
#: Faults that cost no time while they last; they are to be named all the same, or to be passed over in silence.
TIMELESS = ("memory-leak", "clock-skew")
#: Faults of pipelines, which are simulated in one format so far.
PIPED = {"few-micro-batches", "uneven-stages"}

Case = tuple[SimJob, tuple[str, ...]]


def cases(family: Family, healthy: int, each: int, pairs: int, only: Collection[str] = ()) -> Iterator[Case]:
    """All cases of a family.

    Args:
        family: Where jobs come from.
        healthy: Number of jobs without a fault.
        each: Number of jobs with each fault.
        pairs: Number of jobs with two faults.
        only: Leave out cases with none of these faults, if any are given.
    """
    jobs = healthy_jobs(family, max(healthy, 32))
    for job in jobs[: 0 if only else healthy]:
        yield job, ()
    for fault in ANSWERS:
        if not only or fault in only:
            rng = random.Random(f"{family.first_seed} {fault}")
            yield from _several(jobs, rng, each, lambda _, fault=fault: (fault,))  # type: ignore[misc]
    names = [fault for fault in ANSWERS if fault not in TIMELESS]
    rng = random.Random(family.first_seed - 1)
    for case in _several(jobs, rng, pairs, lambda rng: tuple(rng.sample(names, 2))):
        if not only or set(only) & set(case[1]):
            yield case


def _several(jobs: list[SimJob], rng: random.Random, wanted: int, draw) -> Iterator[Case]:  # type: ignore[no-untyped-def]
    """Draw jobs and faults until enough of them matter; a fault that never matters gives fewer cases."""
    made: set[tuple[str, tuple[str, ...]]] = set()
    for attempt in count():
        if len(made) == wanted or attempt >= 24 * wanted:
            return
        drawn, faults = rng.choice(jobs), draw(rng)
        if (drawn.name, faults) in made:
            continue
        job = suited(drawn, faults)
        if _recorded(job, faults) and (job == drawn or well_tuned(job)) and _all_matter(job, faults):
            made.add((drawn.name, faults))
            yield job, faults


def suited(job: SimJob, faults: tuple[str, ...]) -> SimJob:
    """The job, as healthy, such that these faults can show."""
    # Where a fault shows only between ranks, the job has several without it too: only the fault may slow it.
    job = with_ranks(job, max(job.ranks, *(FAULTS[fault].ranks for fault in faults)))
    if PIPED & set(faults):
        job = piped(job)
        job = with_ranks(job, job.ranks)
    if "unfused-optimizer" in faults:
        # The remedy is the fused one, which its price is to be held against.
        job = replace(job, optimizer_impl="fused")
    if "loader-jitter" in faults:
        # What happens once in five steps need not happen again: it is left out of the typical step.
        job = replace(job, steps=24)
    if "small-buckets" in faults:
        # Small collectives harm where there are many, and each takes long to start, as among hundreds of ranks: then
        # they take longer than the backward pass behind which a few large ones hide.
        job = replace(job, layers=16)
        job = replace(job, comm_latency_ns=step_ns(job, ()) // 100)
    return job


def _recorded(job: SimJob, faults: tuple[str, ...]) -> bool:
    """Whether the job can be simulated and recorded with these faults; a leak must be in the recording."""
    if "memory-leak" in faults and not (job.profile_memory and format_of(job) != "nsight"):
        return False
    return not PIPED & set(faults) or format_of(job) == "kineto"


def _all_matter(job: SimJob, faults: tuple[str, ...]) -> bool:
    """Whether the recorded step would be shorter without any one of the faults."""
    if faults[0] in TIMELESS:
        return True
    # What is drawn is simulated first without what real recordings are full of, which is quicker.
    return all(_matters(one, faults) for one in (job, real(job)))


def _matters(job: SimJob, faults: tuple[str, ...]) -> bool:
    slow = step_ns(job, faults)
    return all(slow - step_ns(job, tuple(f for f in faults if f != fault)) >= LEAST * slow for fault in faults)
