"""What real recordings are full of, put around a job; none of it is a fault, and none may be priced as one."""

from __future__ import annotations

import random
from dataclasses import replace

from stepscope.simulate.devices import DEVICES
from stepscope.simulate.job import SimJob


def real(job: SimJob) -> SimJob:
    """The job as it would be recorded in practice; the same job always in the same way.

    Every second recording holds the job's start (context, first uses, a warm-up step) or starts within the step before;
    every second has a device clock of its own, every fourth microsecond times, most a profiler that takes its time to
    stop. On NPUs, whose profiler sets the clocks itself and records no work without its launch, only start and stop
    remain.
    """
    rng = random.Random(f"reality {job.seed}")
    ahead = job.workers * job.prefetch
    npu = DEVICES[job.device].vendor == "huawei"
    start = rng.choice(("start", "edge", "clean", "clean"))
    job = replace(
        job,
        # While the job starts, its loader gets ahead by all that it may. A recording that starts later shows what comes
        # after; one that holds the start is long enough for that to be most of it. Three steps at least are no edge.
        steps=max(job.steps, 5) + 2 * ahead * (start == "start" and not npu),
        warmup_steps=max(job.warmup_steps, 1 + ahead * (start != "start" or npu)),
        profiler_stop_ns=rng.choice((0, 3_000_000, 33_000_000)),
        first_use_ns=rng.choice((200_000, 3_000_000)),
        library_copies=rng.random() < 0.5,
        context_ns=rng.choice((90_000_000, 310_000_000)),
        record_start=start == "start" and not npu,
        start_edge=start == "edge" and not npu,
    )
    if npu or rng.random() < 0.5:
        return job
    return replace(
        job,
        device_clock_ns=rng.choice((-60_000, -12_000, 9_000, 80_000)),
        device_clock_ppm=rng.choice((0.0, 0.0, 15.0, -30.0)),
        clock_tick_ns=rng.choice((1, 1, 1000)),
    )
