"""The device idles for much of the step, and what it waits for is not recorded.

## What it finds
Recordings of a device without the calls that launch its work, or without the numbers that tie work to its call, in
which it is idle for a large part of the step.

## Why it matters
A device without work waits for the host: for a batch, for operators to be dispatched, for a number that was read. No
faster kernel saves that, though the recording can't say which of these it is.

## How it decides
No calls that launch device work are recorded, or most work has none of its own (`links.linked`), and idle time of
unknown cause (`idle_causes`) is at least `min_share` of the typical step. The cause being unknown, there is no price.
It stands where it would if all of that time could be saved: where a device waits so long for its host, faster kernels
may save nothing.

## What to try
Record the host as well: a few steps suffice to see what it does meanwhile. Where it is recorded, give the file as the
profiler wrote it, with the correlation numbers of calls and kernels.

## Known limits
Idle time between steps that were found from repeated work may be a pause of the program that is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.recording.no_host import ACTIONS
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.recording.recording import calls_known, profiler, work_known
from stepscope.signals.shared.idleness import causes
from stepscope.signals.shared.job import step_ns, steps
from stepscope.signals.shared.links import linked

_AS_WRITTEN = Action(
    "Give the recording as the profiler wrote it, with the correlation numbers of calls and of device work",
    page="recording",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare idle time of unknown cause with the step, where no launches are recorded."""
    called = s(calls_known)
    if not s(work_known) or (called and s(linked)):
        return
    share = s(causes).get("unknown", 0.0)
    if share < limits["min_share"]:
        return
    idle = round(share * s(step_ns))
    per = said("each step") if s(steps) else said("the time in which it is in use")
    missing = said("the numbers that tie work to its launches") if called else said("recorded launches")
    yield Draft(
        title="The device idles, and what it waits for is not recorded",
        summary=said(
            "For {idle} of {per} ({share}) the device has nothing to do. Without {missing} it is unknown "
            "what the host does meanwhile: loading data, dispatching operators, waiting.",
            idle=duration(idle), per=per, share=percent(share), missing=missing,
        ),
        actions=(_AS_WRITTEN if called else ACTIONS.get(s(profiler), ACTIONS["any"]),),
        taken_ns=idle,
        placed_as_ns=idle,
        waiting=True,
        confidence=0.5,
        rows=({"table": "idle_causes", "where": {"cause": "unknown"}},),
        numbers={"idle_share": share, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST017",
    "unrecorded-host",
    thresholds=(Threshold("min_share", 0.3, "share", "Three times the idle time from which xprof and others warn."),),
    check=check,
)
