"""The host pauses at irregular intervals.

## What it finds
Pauses of a millisecond or more without recorded host activity, at places where the host usually continues at once:
between two operators, or inside an operator that usually takes microseconds.

## Why it matters
Something takes the processor away from the job: another process on the same core, a limit on processor time, a page
fault, or Python's garbage collector, where the recording does not show it. The device idles meanwhile, and in a job of
several ranks all wait for the paused one.

## How it decides
Pauses must take `min_share` of the mean step (`pauses.paused_share`), and there must be at least `min_count` of them.
What recurs at the same place of other steps is the program's own work, and does not count. The price is what the step
would save on its dependency graph without the pauses.

## What to try
First find out what it is: rule out garbage collection by `gc.disable()`; look at other processes, at involuntary
context switches (`pidstat -w`) and at throttling (`cpu.stat` of the control group). Then give the job cores of its own.

## Known limits
The recording does not say what the processor did. Needs at least three steps, recorded operators and a device.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules.finding import Action
from stepscope.rules.host.gc_pauses import MANUAL
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.host import collections, late_share
from stepscope.signals.host.pauses import paused_share, pauses

_LOOK = Action(
    "See what takes the processor away",
    before="python train.py",
    after="pidstat -w -p $PID 1            # nvcswch/s: taken away by other processes\n"
    "cat /sys/fs/cgroup/cpu.stat     # nr_throttled: a limit of the container",
    page="host-cores",
)
_CORES = Action(
    "Give the job cores of its own",
    before="docker run --cpus=8 ...",
    after="docker run --cpuset-cpus=0-15 ...  # and fewer threads than cores: OMP_NUM_THREADS",
    page="host-cores",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare pauses with the step, where the device waits for the host at all."""
    if s(late_share) < limits["min_share"]:
        return
    found, share = s(pauses), s(paused_share)
    if found.starts.size < limits["min_count"] or share < limits["min_share"]:
        return
    length = found.ends - found.starts
    longest = np.argsort(-length, kind="stable")[:10]
    known = s(collections).events.size > 0
    unless = "" if known else said(" Garbage collection is not recorded, and may be the cause.")
    yield Draft(
        title="The host pauses at irregular intervals",
        summary=said(
            "The host pauses {size:,} times for up to {length} ({share} of the step) without recorded "
            "activity, {inside:,} times inside an operator.{unless}",
            size=length.size, length=duration(int(length.max())), share=percent(share), inside=found.inside,
            unless=unless,
        ),
        actions=(_LOOK, _CORES) if known else (MANUAL, _LOOK, _CORES),
        change=Change(time=(Stretches(found.starts, found.ends, 0.0),)),
        confidence=0.75,
        ranges=tuple(zip(found.starts[longest].tolist(), found.ends[longest].tolist(), strict=True)),
        numbers={paused_share.name: share, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST012",
    "host-pauses",
    thresholds=(
        Threshold("min_share", 0.02, "share", "Recordings of jobs that nothing disturbs show up to 1 %."),
        Threshold("min_count", 3, "count", "One or two pauses may be due to anything."),
    ),
    check=check,
    symptom_of=("HST005", "HST006", "HST007", "HST010", "HST011", "SYS001", "SYS002", "SYS003"),
)
