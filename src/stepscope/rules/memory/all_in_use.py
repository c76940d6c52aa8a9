"""All memory that the allocator holds is in use.

## What it finds
A snapshot, without a history, in which next to nothing is cached: live tensors fill the memory.

## Why it matters
Nothing can be gained from the allocator. If the device has no more to give, the next allocation fails, and only
holding less helps.

## How it decides
The snapshot has no history of allocations, at least `min_share` of the memory that the allocator holds is in use, and
it holds at least `min_bytes`. Where a history tells the peak, or a failure, other rules judge.

## What to try
Keep part of it on the host or on disk, use a smaller data type, spread it over devices, or take a larger one.

## Known limits
How much memory the device has is not in a snapshot: right after loading a model, this is how it is meant to be.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.memory.remedies import SHARD
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.memory import snapshot
from stepscope.signals.snapshots.peak_makeup import makeup, trains


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what is in use with what is held, where nothing else is known."""
    row, found = s(snapshot), s(makeup)
    if s.maybe(trains) is not None or row["reserved_bytes"] < limits["min_bytes"]:
        return
    share = row["active_bytes"] / row["reserved_bytes"]
    if share < limits["min_share"]:
        return
    lines = found.by_line()
    yield Draft(
        title="Live tensors fill the allocator's memory",
        summary=said(
            "{active_bytes} of the {reserved_bytes} that the allocator holds ({share}) are in use: {by_purpose}",
            active_bytes=quantity(row["active_bytes"], "bytes"),
            reserved_bytes=quantity(row["reserved_bytes"], "bytes"), share=percent(share),
            by_purpose=found.by_purpose(),
        )
        + (said("; {lines}", lines=lines) if lines else "")
        + said(
            ". Only {inactive_bytes} are cached. The snapshot has no history: what came before, and "
            "whether a request failed, is not recorded.",
            inactive_bytes=quantity(row["inactive_bytes"], "bytes"),
        ),
        actions=(SHARD,),
        confidence=0.7,
        rows=({"table": "memory_snapshot", "where": {"device": row["device"]}},),
        numbers={"share": round(share, 4), **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM017",
    "all-in-use",
    thresholds=(
        Threshold(
            "min_share", 0.98, "share", "A job that runs has some per cent cached: two is rounding and leftovers."
        ),
        Threshold("min_bytes", 2**32, "bytes", "Less than 4 GiB is not what fills a device."),
    ),
    check=check,
)
