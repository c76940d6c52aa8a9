"""The device idles between passes while the server schedules the next batch.

## What it finds
A server whose device does nothing between the end of one pass and the start of the next, though requests wait.

## Why it matters
Every token of every request pays for the time in which the host takes up tokens, chooses the next batch and prepares
its inputs, unless that happens while the device is still at work.

## How it decides
Of the gaps between passes those count after which requests of the pass before go on, which hence waited
(`serving.pending_gaps`), without those of several times the usual one. There must be `min_gaps` of them, and they must
come to `min_share` of the time of the passes with gaps. Where functions of the scheduler are recorded and took less
than half of the gaps, the host was at something else, and nothing is said. The price is the gaps, as far as they lie in
steps, less the tenth that remains with a scheduler that works ahead; none if most of them lie between steps, as where
steps are the ranges of passes.

## What to try
Schedule ahead: the next batch is chosen while the device works on this one. Keep the server's process free of other
work (tokenizing, logging, other servers on its cores).

## Known limits
Recording call stacks makes the host slower. Without functions of the scheduler in the recording, what the host did in
the gaps is not known; the gaps are. A stage of a pipeline waits for the others between passes: of ranks that send to
each other nothing is said, unless functions of the scheduler account for the gaps.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.rules.host_advice import SCHEDULE_AHEAD, slowed
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.outside import between
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.serving import passes, pending_gaps, staged

#: Part of the gaps that remains, and part of them that the scheduler must account for where it is recorded; as much of
#: them must lie in steps to have a price per step.
LEFT = 0.1
_ITS_OWN = 0.5


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare gaps between passes with the passes."""
    rows = s(pending_gaps)
    if len(rows) < limits["min_gaps"]:
        return
    gaps = sum(row["gap_ns"] for row in rows)
    length = sum((row["device_ns"] or 0) + (row["gap_ns"] or 0) for row in s(passes))
    share = gaps / length
    if share < limits["min_share"]:
        return
    known = [row["scheduler_ns"] for row in rows if row["scheduler_ns"] is not None]
    stage = s.maybe(staged)
    if sum(known) < _ITS_OWN * gaps if known else stage:
        return
    did = (
        said("; the scheduler took {known} of the host each time", known=duration(sum(known) // len(rows)))
        if known
        else ""
    )
    most = gaps // s(recorded_steps)
    outside = s.whole.maybe(between)
    within = most - min(most, outside.idle_ns) if outside is not None else most
    of_steps = within >= _ITS_OWN * most
    yield Draft(
        title="The device idles between passes while the server schedules the next batch",
        summary=said(
            "Before {passes} the device did nothing for {gaps} on average, {share} of the time, though "
            "requests of the pass before went on{did}.{slowed}",
            passes=plural(len(rows), "pass", "passes"), gaps=duration(gaps // len(rows)), share=percent(share),
            did=did, slowed=slowed(s),
        ),
        actions=SCHEDULE_AHEAD,
        cost_ns=round(within * (1 - LEFT)) if of_steps else None,
        most_ns=within if of_steps else None,
        taken_ns=most,
        waiting=True,
        recorded_share=share,
        confidence=0.75 if known else 0.55,
        rows=({"table": "serving", "where": {}},),
        numbers={"gap share": share, "gaps": len(rows), **limits},
    )  # fmt: skip


RULE = Rule(
    "HST022",
    "scheduling-gaps",
    thresholds=(
        Threshold("min_share", 0.1, "share", "xprof and msprof-analyze warn from 10 % of idle time on."),
        Threshold("min_gaps", 3, "gaps", "One or two may be the profiler's start, or a batch that came late."),
    ),
    check=check,
)
