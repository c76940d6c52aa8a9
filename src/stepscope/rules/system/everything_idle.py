"""Device and host both wait.

## What it finds
Steps in which the device is idle and the thread that feeds it waits too: for another thread, another process, the
network, or for time to pass.

## Why it matters
No part of the machine is the bottleneck, so that no faster part would help: the program is serialised on waits.

## How it decides
The device must be idle and the thread that runs the steps be in a call that waits (`poll`, `futex`,
`pthread_cond_wait`, `nanosleep`, ...), outside the loader and outside calls of the device's runtime and while no other
thread launches, for `min_share` of the step (`system.blocked_share`). The price is what the step would save on its
dependency graph without that time.

## What to try
A stack at that moment (`py-spy dump`) shows what it waits for. Make queues between threads longer and locks shorter;
move barriers in Python and calls of services out of the loop.

## Known limits
Needs recorded calls of the operating system (Nsight Systems, `--trace=osrt`) and steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import recorded_steps, steps
from stepscope.signals.system.system import blocked, blocked_share, blocking_calls, longest

_DUMP = Action(
    "Find out what the program waits for",
    before="python train.py",
    after="py-spy dump --pid $PID   # a few times while it waits",
    page="host-cores",
)
_QUEUE = Action(
    "Let threads hand over more than one item at a time",
    before="queue.Queue(maxsize=1)",
    after="queue.Queue(maxsize=8)",
    page="prefetching",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time in which both wait with the step."""
    if not s(steps) or s(blocked_share) < limits["min_share"]:
        return
    found, calls = s(blocked), s(blocking_calls)
    yield Draft(
        title="Device and host both wait",
        summary=said(
            "For {total} of each step ({blocked_share}) the device is idle and the program waits in {calls}.",
            total=duration(found.total // s(recorded_steps)), blocked_share=percent(s(blocked_share)),
            calls=listing(calls, " and "),
        ),
        actions=(_DUMP, _QUEUE),
        change=Change(time=(Stretches(found.starts, found.ends, 0.0),)),
        confidence=0.75,
        ranges=longest(found),
        rows=tuple({"table": "os_runtime", "where": {"name": name}} for name in calls),
        numbers={blocked_share.name: s(blocked_share), "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "SYS003",
    "everything-idle",
    thresholds=(Threshold("min_share", 0.02, "share", "Short waits for other threads belong to every program."),),
    check=check,
    symptom_of=("DAT001", "DAT005"),
)
