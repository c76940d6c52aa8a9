"""Repeatable noise on times: a short table of factors that is used cyclically, and pauses."""

from __future__ import annotations

from random import Random

from stepscope.simulate.job import SimJob

LENGTH = 4096
ONE = 1024
NEVER = 1 << 62


def factors(seed: int, spread: float, scale: float = 1.0) -> list[int]:
    """Factors in units of 1/1024 with relative deviation ``spread``; their number is a power of two.

    Log-normal, so that no time becomes negative and long ones are rarer than short ones.
    """
    base = int(scale * ONE)
    if not spread:
        return [base]
    rng = Random(seed)
    return [max(1, int(base * rng.lognormvariate(0.0, spread))) for _ in range(LENGTH)]


def next_alarm(job: SimJob, operators: int) -> int:
    """The operator count at which the next collection or pause is due."""
    due = []
    if job.gc_interval_ops:
        due.append((operators // job.gc_interval_ops + 1) * job.gc_interval_ops)
    if job.pause_interval_ops:
        due.append(next_pause(job, operators))
    return min(due, default=NEVER)


def next_pause(job: SimJob, operators: int) -> int:
    """One pause per interval, at a random place in it, independent of the job's steps."""
    interval = job.pause_interval_ops
    number = operators // interval
    return next(
        place
        for n in (number, number + 1)
        if (place := n * interval + 1 + (n * 2_654_435_761 + job.noise_seed * 40_503 >> 8) % interval) > operators
    )
