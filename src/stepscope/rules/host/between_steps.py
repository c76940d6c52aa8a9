"""The device is idle between one step and the next, or a host without a device runs no operators there.

## What it finds
Steps that are marked with ranges of their own, such as a server's passes or a training step without its data loading,
and between the end of each and the start of the next time in which no device does anything.

## Why it matters
That time belongs to every iteration as much as the steps do, but is part of none: all else on the page is about the
steps, which may be perfect while the device is idle for half of the time.

## How it decides
The median of the idle time between two steps (`outside.between`), as a share of the time from one step to the next,
must reach `min_share`. A median, since a job may pause once, to evaluate or to save. What the host does meanwhile is
the innermost function, range or operator that covers half of it. Of a host alone, operators count for the device, and
`min_alone` and `min_ns` must be reached, too: a program may have nothing to compute, as a server without requests.

## What to try
Do it while the device still works on the step before: sample and schedule asynchronously, prepare the next batch before
the results of this one are read.

## Known limits
Steps that are marked back to back, such as `ProfilerStep`, leave nothing between them. What it saves is no part of a
step and has no price per step.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.host.host_work import LESS, MARK, where
from stepscope.rules.host_advice import SCHEDULE_AHEAD
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.shared.awaited import AWAITED, WAITS
from stepscope.signals import Signals
from stepscope.signals.host.outside import Between, between
from stepscope.signals.system.system import longest

_AHEAD = Action(
    "Prepare the next step before the results of this one are read, so that the device finds its work queued",
    before="for batch in loader:\n    step(batch)\n    log(loss.item())",
    after="for batch in prefetched(loader):\n    step(batch)   # launches, and does not wait\n"
    "    if number % 50 == 0:\n        log(loss.item())",
    page="prefetching",
    needs=("loop of its own",),
)
_WIDER = Action("Let the marked step reach over it too, so that what it costs is told like the rest")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the idle time between steps with the time from one to the next."""
    found = s(between)
    if found.share < limits["min_share"]:
        return
    told = bool(found.doing.name or found.doing.parts)
    if found.alone:
        if found.idle_ns * found.count >= limits["min_ns"] and found.share >= limits["min_alone"]:
            yield _alone(found, told, limits)
        return
    yield Draft(
        title="The device is idle between the steps",
        summary=said(
            "From the end of one step to the start of the next no device does anything for {idle}, "
            "{share} of the time from step to step (median of {count:,}){where}.",
            idle=duration(found.idle_ns), share=percent(found.share), count=found.count, where=where(found.doing),
        ),
        actions=(*SCHEDULE_AHEAD, _AHEAD, _WIDER),
        taken_ns=found.idle_ns,
        waiting=True,
        recorded_share=found.recorded_share,
        confidence=0.85 if told else 0.7,
        ranges=longest(found.doing.found),
        rows=({"table": "coverage", "where": {"part": "between"}},),
        numbers={"outside.between.share": round(found.share, 4), **limits},
    )  # fmt: skip


def _alone(found: Between, told: bool, limits: Limits) -> Draft:
    """The same of a host alone, on which operators run in the steps and nothing may have to be done between them."""
    return Draft(
        title="No operator runs between the steps",
        summary=said(
            "From the end of one step to the start of the next no operator runs for {idle}, {share} of the time from "
            "step to step (median of {count:,}){where}.{waits}",
            idle=duration(found.idle_ns), share=percent(found.share), count=found.count, where=where(found.doing),
            waits=WAITS.get(found.awaits, ""),
        ),
        actions=(AWAITED.get(found.awaits, LESS),) if told else (MARK["any"],),
        taken_ns=found.idle_ns,
        placed_as_ns=found.idle_ns,
        recorded_share=found.recorded_share,
        confidence=0.7 if told else 0.5,
        ranges=longest(found.doing.found),
        rows=({"table": "coverage", "where": {"part": "between"}},),
        numbers={"outside.between.share": round(found.share, 4), **limits},
        key="alone",
    )  # fmt: skip


RULE = Rule(
    "HST016",
    "between-steps",
    thresholds=(
        Threshold("min_share", 0.05, "share", "As for other work of the host that the device waits for."),
        Threshold("min_alone", 0.3, "share", "Of a host alone: less is one of several parts."),
        Threshold("min_ns", 10e6, "ns", "The same: less is no more than the start of a small program."),
    ),
    check=check,
    whole=True,
    symptom_of=("HST022",),
)
