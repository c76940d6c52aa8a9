"""Decode passes launch their kernels one by one.

## What it finds
A server whose decode passes, none of which is replayed from a graph, leave the device idle between their kernels.

## Why it matters
A decode pass is many short kernels for a handful of tokens. Launched one by one they take the host longer than the
device; replayed as a graph they are one call.

## How it decides
All passes that only decode are launched kernel by kernel (`serving.launched`, table `serving`), each with
`min_launches` calls or more, and the device idles for `min_share` of their time. The price is that idle time less the
tenth that graphs leave.

## What to try
Let the engine capture its graphs: remove the option that switches them off, and name the batch sizes that occur.

## Known limits
Recording call stacks slows the host several times over, so that idle time is more than without. Passes whose ranges
the engine does not mark are not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.rules.host_advice import CAPTURE, slowed
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.serving import launched, replayed

#: Part of the idle time that graphs leave.
LEFT = 0.1


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare idle time in decode passes with their length."""
    rows = s(launched)
    if not rows or s(replayed) or min(row["launches"] for row in rows) < limits["min_launches"]:
        return
    idle, length = (sum(row[name] or 0 for row in rows) for name in ("idle_ns", "device_ns"))
    share = idle / length
    if share < limits["min_share"]:
        return
    calls = sum(row["launches"] for row in rows) // len(rows)
    most = idle // s(recorded_steps)
    yield Draft(
        title="Decode passes launch their kernels one by one",
        summary=said(
            "{passes} of {length} on average make {calls:,} launches each, and none is replayed from a "
            "graph: the device idles for {share} of that time.{slowed}",
            passes=plural(len(rows), "decode pass", "decode passes"), length=duration(length // len(rows)),
            calls=calls, share=percent(share), slowed=slowed(s),
        ),
        actions=CAPTURE,
        cost_ns=round(most * (1 - LEFT)),
        most_ns=most,
        confidence=0.8,
        rows=({"table": "serving", "where": {"execution": "eager"}},),
        numbers={"idle share": share, "launches": calls, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST021",
    "eager-decode",
    thresholds=(
        Threshold("min_share", 0.2, "share", "Graphs leave a tenth or less of it; below twice that little is gained."),
        Threshold("min_launches", 50, "calls", "A layer takes about ten; fewer calls than of five are no model."),
    ),
    check=check,
)
