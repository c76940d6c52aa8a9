"""The host waits for the device after every kernel.

## What it finds
A wait of the host for the device after most launches, or launches that themselves return only when their kernel is
done.

## Why it matters
Nothing overlaps: the device idles while the host prepares the next kernel, and the host is blocked while that runs. A
step takes the sum of both instead of the longer one.

## How it decides
Waits per launched kernel (`synchronisation.per_launch`), or the share of launches of longer kernels that return right
after their kernel's end (`synchronisation.blocking_launches`), must reach `min_share`. The price is what the step would
save on its dependency graph if these calls did not wait, and those that the program asks for were gone
(`synchronisation.needless`); it is at most what the device is idle.

## What to try
Unset the variable that makes launches synchronous, which is meant for finding the kernel that fails:
`CUDA_LAUNCH_BLOCKING`, `AMD_SERIALIZE_KERNEL`, `ASCEND_LAUNCH_BLOCKING`. Remove synchronisation from hooks, timers and
wrappers around operators. In CUDA code, rely on the order within a stream.

## Known limits
Launches that block are seen only where kernels take 20 µs or more: shorter ones are done before the call returns
anyway. A program may need a wait after each kernel if the host uses each result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import often, torch_module, where
from stepscope.signals import Signals
from stepscope.signals.host.host import refill_ns
from stepscope.signals.host.synchronisation import blocking_launches, calls, launching, needless, per_launch, places
from stepscope.signals.shared.job import platform, recorded_steps
from stepscope.signals.shared.step_columns import longest

_VARIABLES: Final = {"npu": "ASCEND_LAUNCH_BLOCKING", "rocm": "AMD_SERIALIZE_KERNEL"}
#: Part of a launch call that remains when it does not wait for its kernel.
_LEFT: Final = 0.05


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare waits and blocking launches with launches."""
    yield from _waits(s, limits)
    yield from _launches(s, limits)


def _waits(s: Signals, limits: Limits) -> Iterator[Draft]:
    rate, found, steps = s(per_launch), s(calls), s(recorded_steps)
    if rate < limits["min_share"] or found.events.size < limits["min_calls"] * steps:
        return
    those = s(places)
    yield Draft(
        title="The host waits for the device after every kernel",
        summary=said(
            "The host waits for the device {often}{where}, {rate:.1f} times for each launched kernel: it "
            "is blocked for {dur} of each step, and host and device never overlap.",
            often=often(found.events.size / steps), where=where(those), rate=rate,
            dur=duration(int(found.dur.sum()) // steps),
        ),
        actions=_actions(s(platform)),
        change=Change(host=(Scaled(s(needless).events, 0.0),), unblocked=found.events),
        explaining=Change(unblocked=found.events),
        most_ns=s.maybe(refill_ns),
        events=found.longest(),
        rows=tuple(place.row for place in those[:3]),
        numbers={per_launch.name: rate, "min_share": limits["min_share"]},
    )  # fmt: skip


def _launches(s: Signals, limits: Limits) -> Iterator[Draft]:
    share, found, steps = s(blocking_launches), s(launching), s(recorded_steps)
    if share < limits["min_share"] or np.count_nonzero(found.long) < limits["min_calls"] * steps:
        return
    blocked = found.dur[found.blocking]
    events = found.events[found.blocking]
    yield Draft(
        title="Launches wait for their kernels",
        summary=said(
            "{share} of the launches of longer kernels return only when their kernel is done: the host is "
            "blocked in them for {blocked} of each step.",
            share=percent(share), blocked=duration(int(blocked.sum()) // steps),
        ),
        actions=(_unset(s(platform)),),
        change=Change(host=(Scaled(events, _LEFT),)),
        most_ns=s.maybe(refill_ns),
        events=longest(events, blocked),
        numbers={blocking_launches.name: share, "min_share": limits["min_share"]},
        key="launches",
    )  # fmt: skip


def _actions(platform: str) -> tuple[Action, ...]:
    # CANN waits by calls of its own; CUDA and HIP inside the launch, where no call that waits is seen.
    return (_unset(platform), _remove(platform)) if platform == "npu" else (_remove(platform),)


def _unset(platform: str) -> Action:
    variable = _VARIABLES.get(platform, "CUDA_LAUNCH_BLOCKING")
    return Action(
        "Unset the variable that makes launches synchronous",
        before=f"export {variable}={'3' if platform == 'rocm' else '1'}",
        after=f"unset {variable}",
        page="synchronisation",
    )


def _remove(platform: str) -> Action:
    return Action(
        "Remove synchronisation from hooks, timers and wrappers around operators",
        before=f"y = layer(x)\n{torch_module(platform)}.synchronize()",
        after="y = layer(x)  # work of one stream runs in the order in which it was launched",
        page="synchronisation",
    )


RULE = Rule(
    "SYN005",
    "sync-after-every-op",
    thresholds=(
        Threshold(
            "min_share",
            0.5,
            "per launch",
            "msprof-analyze's rule on stream synchronisation uses 0.5 waits per launch.",
        ),
        Threshold("min_calls", 10, "per step", "Fewer are not many, whatever the share."),
    ),
    check=check,
    symptom_of=("ASC008",),
    elsewhere=native.WAITING,
)
