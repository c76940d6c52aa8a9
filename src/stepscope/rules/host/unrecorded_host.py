"""The device idles for much of the step, and what it waits for is not recorded.

## What it finds
Recordings of a device without the calls that launch its work, in which it is idle for a large part of the step.

## Why it matters
A device without work waits for the host: for a batch, for operators to be dispatched, for a number that was read. No
faster kernel saves that, though the recording can't say which of these it is.

## How it decides
No calls that launch device work are recorded, and idle time of unknown cause (`idle_causes`) is at least `min_share` of
the typical step. There is no price, since the cause is unknown; it stands where it would if half of that time could be
saved.

## What to try
Record the host as well: a few steps suffice to see what it does meanwhile.

## Known limits
Idle time between steps that were found from repeated work may be a pause of the program that is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.model.amounts import duration, percent
from stepscope.rules.recording.no_host import ACTIONS
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.recording.recording import calls_known, profiler, work_known
from stepscope.signals.shared.idleness import causes
from stepscope.signals.shared.job import step_ns, steps


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare idle time of unknown cause with the step, where no launches are recorded."""
    if s(calls_known) or not s(work_known):
        return
    share = s(causes).get("unknown", 0.0)
    if share < limits["min_share"]:
        return
    idle = round(share * s(step_ns))
    per = "each step" if s(steps) else "the time in which it is in use"
    yield Draft(
        title="The device idles, and what it waits for is not recorded",
        summary=f"For {duration(idle)} of {per} ({percent(share)}) the device has nothing to do. Without recorded "
        "launches it is unknown what the host does meanwhile: loading data, dispatching operators, waiting.",
        actions=(ACTIONS.get(s(profiler), ACTIONS["any"]),),
        taken_ns=idle,
        waiting=True,
        confidence=0.5,
        rows=({"table": "idle_causes", "where": {"cause": "unknown"}},),
        numbers={"idle_share": share, **limits},
    )


RULE = Rule(
    "HST017",
    "unrecorded-host",
    thresholds=(Threshold("min_share", 0.3, "share", "Three times the idle time from which xprof and others warn."),),
    check=check,
)
