"""The AI cores run below their clock.

## What it finds
Kernels during which the AI cores were clocked lower than at other times of the recording.

## Why it matters
A device that lowers its clock, because of heat, power limits or a setting, computes proportionally slower, and in a
job of many ranks all wait for it.

## How it decides
The mean shortfall of the clock, over the time of all kernels, against the highest recorded clock must reach
`min_drop`. The price is what the step would save if these kernels ran at that clock.

## What to try
Look at temperature and power (`npu-smi info -t power -i 0`, `-t temp`), fans and placement; compare with the other
ranks.

## Known limits
The clock is sampled rarely. A device that never reached its full clock during the recording shows no drop. Kernels
that wait for memory do not get faster with the clock.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_kernels import clock, highest_clock, kernels
from stepscope.signals.shared.step_columns import longest

_COOL = Action(
    "Find out what limits the clock: temperature, power, or a setting",
    after="npu-smi info -t power -i 0\nnpu-smi info -t temp -i 0\nnpu-smi info -t common -i 0   # current clocks",
    page="npu-operators",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the clock during kernels with the highest."""
    found, speed = s(kernels), s(clock)
    if not speed.size:
        return
    highest = max(float(speed.max()), s.maybe(highest_clock) or 0.0)
    drop = float(((highest - speed) / highest * found.dur).sum()) / max(int(found.dur.sum()), 1)
    if drop < limits["min_drop"]:
        return
    slowed = speed < highest
    yield Draft(
        title="AI cores run below their clock",
        summary=said(
            "During kernels the clock is {drop} below its highest recorded value of {highest:,.0f} MHz on "
            "average, down to {speed:,.0f} MHz.",
            drop=percent(drop), highest=highest, speed=float(speed.min()),
        ),
        actions=(_COOL,),
        change=Change(device=scaled_each(found.event[slowed], speed[slowed] / highest)),
        confidence=0.8,
        events=longest(found.event[slowed], found.dur[slowed]),
        numbers={"drop": drop, "highest MHz": highest, **limits},
    )  # fmt: skip


RULE = Rule(
    "ASC002",
    "core-frequency",
    thresholds=(Threshold("min_drop", 0.05, "share", "msprof-analyze reports operators from a drop of 5 % on."),),
    check=check,
)
