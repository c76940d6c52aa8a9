"""The device slows down at times.

## What it finds
Kernels of the same name, grid and inputs that take longer in some steps than in others, most of them together: the
device ran at a lower clock, or shared itself with something else.

## Why it matters
A device that gets too hot, reaches its power limit or serves another process slows down by 5 to 50 %, and nothing in
the program explains it.

## How it decides
Kernels that every step runs equally often, and that are most of what it computes, are compared with the fastest tenth
of at least six steps (`clocks.pace`); where only a few are slower in slow steps, they have more to do there. On average
they must take `min_lost` longer (`clocks.lost_share`). Samples of a clock, where recorded, make it certain if they fall
by `min_drop` below their highest value (`clocks.sampled`). The price is what the step would save on its dependency
graph if these kernels ran as in the best steps.

## What to try
Watch clock, temperature, power and the reasons for throttling during the job. Improve cooling, raise the power limit,
or lock the clock at what can be held. Look for other processes on the device.

## Known limits
Kernels whose time depends on the data (lookups, sparse GEMMs, sorting) vary by themselves; collectives beside them
slow kernels down too. A clock that is low all the time is not seen without samples: compare with another rank (CLU001).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import platform
from stepscope.signals.system.clocks import ClockSamples, lost_share, pace, sampled, slow_kernels

_WATCH = {
    "npu": "watch -n 1 'npu-smi info -t common -i 0'",
    "rocm": "watch -n 1 'rocm-smi --showclocks --showtemp --showpower'",
    "xpu": "xpu-smi dump -d 0 -m 1,2,3",
}
_WATCH_CUDA = (
    "nvidia-smi --query-gpu=clocks.sm,temperature.gpu,power.draw,clocks_event_reasons.active --format=csv -l 1"
)


_WHY = said(" Hypotheses: a clock that falls with heat or power, or another process on the device.")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of kernels with that in the best steps."""
    share = s(lost_share)
    if share < limits["min_lost"]:
        return
    found, clock = s(pace), s(sampled)
    slow = found.slowness > 1 + limits["min_lost"]
    dropped = clock is not None and clock.mean < (1 - limits["min_drop"]) * clock.most
    yield Draft(
        title="The device slows down at times",
        summary=said(
            "The same kernels take {share} longer on average than in the fastest steps, and up to "
            "{slowness} longer in single steps{samples}.{dropped}",
            share=percent(share), slowness=percent(float(found.slowness.max()) - 1),
            samples=_samples(clock if dropped else None), dropped="" if dropped else _WHY,
        ),
        actions=(
            Action(
                "Watch clock, temperature, power and other processes during the job",
                after=_WATCH.get(s(platform), _WATCH_CUDA),
                page="slow-ranks",
            ),
        ),
        change=Change(device=tuple(Scaled(events, factor) for events, factor in s(slow_kernels))),
        confidence=0.9 if dropped else 0.6,
        steps=tuple(found.step[slow].tolist()),
        numbers={lost_share.name: share, **limits},
    )  # fmt: skip


def _samples(clock: ClockSamples | None) -> str:
    if clock is None:
        return ""
    return said("; {name} fell from {most:,.0f} to {least:,.0f}", name=clock.name, most=clock.most, least=clock.least)


RULE = Rule(
    "SYS004",
    "clock-drops",
    thresholds=(
        Threshold("min_lost", 0.05, "share", "msprof-analyze reports a drop of the frequency from 5 % on."),
        Threshold("min_drop", 0.05, "share", "msprof-analyze reports a drop of the frequency from 5 % on."),
    ),
    check=check,
)
