"""The device is idle between one step and the next.

## What it finds
Steps that are marked with ranges of their own, such as a server's passes or a training step without its data loading,
and between the end of each and the start of the next time in which no device does anything.

## Why it matters
That time belongs to every iteration as much as the steps do, but is part of none: all else on the page is about the
steps, which may be perfect while the device is idle for half of the time.

## How it decides
The median of the idle time between two steps (`outside.between`), as a share of the time from one step to the next,
must reach `min_share`. A median, since a job may pause once, to evaluate or to save. What the host does meanwhile is
the innermost function, range or operator that covers half of it.

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
from stepscope.rules.host.host_work import where
from stepscope.rules.host_advice import SCHEDULE_AHEAD
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.outside import between
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


RULE = Rule(
    "HST016",
    "between-steps",
    thresholds=(Threshold("min_share", 0.05, "share", "As for other work of the host that the device waits for."),),
    check=check,
    whole=True,
    symptom_of=("HST022",),
)
