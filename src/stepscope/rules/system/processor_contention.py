"""The launching thread is on no processor.

## What it finds
Time in which the device is idle, no processor runs the host thread that launches its work, and no recorded call of that
thread waits for anything.

## Why it matters
One thread feeds a device. If other threads share its core, or a container has used up its processor time, the device
waits for milliseconds until that thread is scheduled again.

## How it decides
Context switches must be recorded, and calls of the operating system, which show voluntary waits. The time in which the
device is idle, the thread is off its processor, and it is in no call that waits
(`system.preempted_share`), must come to `min_share` of the step. Where states of threads are recorded, only time counts
in which it could have run, and the price is what the step would save on its dependency graph without that time.
Elsewhere, as in all exports of Linux, that it waited for a processor is a hypothesis without a price.

## What to try
First see whether it was ready to run: switches that are not voluntary say so. Then fewer threads than cores: loader
workers, OpenMP threads and ranks together. Cores of its own for each rank. A container bound to cores instead of one
with a quota.

## Known limits
Needs Nsight Systems with `--cpuctxsw` and `--trace=osrt`. Calls shorter than the profiler's threshold (1 µs) are not
recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.system.system import longest, preempted, preempted_share, readiness_known

PROVE = Action(
    "See whether other threads take the processor away: nvcswch/s counts switches that the thread did not ask for, "
    "nr_throttled those by a limit of the container",
    before="./program",
    after="./program & pidstat -w -t -p $! 1\ncat /sys/fs/cgroup/cpu.stat",
    page="host-cores",
)
_THREADS = Action(
    "Run fewer threads than there are cores",
    before="DataLoader(..., num_workers=32)  # times 8 ranks, on 64 cores",
    after="DataLoader(..., num_workers=6)\nexport OMP_NUM_THREADS=1",
    page="host-cores",
)
_CORES = Action(
    "Give each rank cores of its own",
    before="docker run --cpus=8 ...",
    after="docker run --cpuset-cpus=0-15 ...\nnumactl --physcpubind=0-7 python train.py",
    page="host-cores",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time without a processor with the step."""
    share = s(preempted_share)
    if share < limits["min_share"]:
        return
    found, known = s(preempted), s.maybe(readiness_known) is True
    per_step = found.total // s(recorded_steps)
    state = said("is ready to run but on no processor") if known else said("is on no processor")
    unknown = "" if known else said(" Whether it was ready to run then, and others ran in its place, is not recorded.")
    yield Draft(
        title="The launching thread waits for a processor" if known else "The launching thread is on no processor",
        summary=said(
            "For {per_step} of each step ({share}) the device is idle and the thread that feeds it "
            "{state}, {found:,} times in the recording, outside of recorded calls that wait.{unknown}",
            per_step=duration(per_step), share=percent(share), state=state, found=len(found), unknown=unknown,
        ),
        actions=(*(() if known else (PROVE,)), _THREADS, _CORES),
        # What it waited for is a guess then, which explains nothing else.
        change=Change(time=(Stretches(found.starts, found.ends, 0.0),)) if known else None,
        taken_ns=None if known else per_step,
        confidence=0.85 if known else 0.5,
        ranges=longest(found),
        numbers={preempted_share.name: share, "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "SYS001",
    "processor-contention",
    thresholds=(Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),),
    check=check,
)
