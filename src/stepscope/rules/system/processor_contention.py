"""The launching thread waits for a processor.

## What it finds
Time in which the device is idle, the host thread that launches its work is ready to run, and no processor runs it.

## Why it matters
One thread feeds a device. If other threads share its core, or a container has used up its processor time, the device
waits for milliseconds until that thread is scheduled again.

## How it decides
Context switches must be recorded, and calls of the operating system, which show voluntary waits. The time in which the
device is idle, the thread is off its processor, and it is in no call that waits
(`system.preempted_share`), must come to `min_share` of the step. The price is what the step would save on its
dependency graph without that time.

## What to try
Fewer threads than cores: loader workers, OpenMP threads and ranks together. Cores of its own for each rank. A container
bound to cores instead of one with a quota.

## Known limits
Needs Nsight Systems with `--cpuctxsw` and `--trace=osrt`. Calls shorter than the profiler's threshold (1 µs) are not
recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.system.system import longest, preempted, preempted_share

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
    found = s(preempted)
    yield Draft(
        title="The launching thread waits for a processor",
        summary=f"For {duration(found.total // s(recorded_steps))} of each step ({percent(share)}) the device is idle "
        f"and the thread that feeds it is ready to run but on no processor, {len(found):,} times in the recording.",
        actions=(_THREADS, _CORES),
        change=Change(time=(Stretches(found.starts, found.ends, 0.0),)),
        confidence=0.85,
        ranges=longest(found),
        numbers={preempted_share.name: share, "min_share": limits["min_share"]},
    )


RULE = Rule(
    "SYS001",
    "processor-contention",
    thresholds=(Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),),
    check=check,
)
