"""The allocator's free memory is fragmented.

## What it finds
A large part of the allocator's memory is free, but in segments that are partly in use: in blocks too small for a large
allocation, and impossible to return to the driver.

## Why it matters
The job needs more memory than its tensors add up to. An allocation can fail with gigabytes free, and before that
happens the allocator gives back and takes anew what it can.

## How it decides
From a memory snapshot: free bytes in segments that are in use (stranded) must reach `min_share` of what the allocator
holds and `min_bytes`, at the moment when it held most and had just taken more from the device, or at the peak if it
took none: free blocks hurt only when there is no room. What is cached in the end only reflects the peak before. A
snapshot without a history has no other moment than its own. Or an allocation failed although enough was free. Without
a snapshot: the allocator holds more with each quarter of `slow_steps` steps or more, `min_grown` in all, though no step
has more in use than the first ones. It is advice.

Where segments can't grow (Windows, PyTorch before 2.1), a value for `max_split_size_mb` is derived. Blocks above it
are not split and serve only requests above it, so it must exceed the small blocks that pin large segments, and be
less than the request that finds no block. The value is the least power of two, from 32 (the allocator refuses 20 and
less), that nine of ten of the blocks in segments more than half free stay below; none is named if that is not less
than the failed request, or the largest one recorded.

## What to try
Expandable segments: free blocks of one growing segment can always be joined. Or equal sizes: pad sequences to a few
lengths, allocate what lives long before what lives briefly. Warm up with the largest input.

## Known limits
Sizes of blocks that are gone are estimated by rounding up to 512 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import MissingInputError
from stepscope.rules.memory.remedies import layout_actions
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.memory import Reserve, failures, reserves, snapshot
from stepscope.signals.snapshots.layout_at import fullest_layout
from stepscope.signals.snapshots.peak_makeup import trains

#: What grows from each of so many parts of the recording to the next one grows for good.
_PARTS = 4


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the stranded bytes with those held."""
    row = s.maybe(snapshot)
    torn = [one for one in s(failures) if one["verdict"] == "fragmentation"]
    if row is None and not torn:
        growing = [one for one in s.maybe(reserves) or () if _grows(one, limits)]
        if growing:
            yield _growing(s, growing[0], limits)
            return
        raise MissingInputError(
            "how the allocator's memory is laid out is not recorded",
            hint="record a memory snapshot (PyTorch: torch.cuda.memory._record_memory_history and _dump_snapshot)",
        )
    if torn:
        yield Draft(
            title="Memory is too fragmented for an allocation",
            summary=said(
                "An allocation of {requested_bytes} failed with {free_bytes} free in the allocator's "
                "segments: the largest free block was {largest_free_bytes}.",
                requested_bytes=quantity(torn[0]["requested_bytes"], "bytes"),
                free_bytes=quantity(torn[0]["free_bytes"], "bytes"),
                largest_free_bytes=quantity(torn[0]["largest_free_bytes"], "bytes"),
            ),
            actions=layout_actions(s),
            rows=({"table": "out_of_memory", "where": {"ts": torn[0]["ts"]}},),
            numbers={"failed": len(torn)},
            key="failed",
        )
        return
    held = s.maybe(fullest_layout)
    if row is None or held is None:
        return
    stranded = held.free - held.releasable
    if stranded < max(limits["min_share"] * held.reserved, limits["min_bytes"]):
        return
    when = said("when it held most") if s.maybe(trains) is not None else said("at the moment of the snapshot")
    yield Draft(
        title="Free memory is fragmented and can't be returned",
        summary=said(
            "{stranded} ({share} of what the allocator holds {when}) are free, but in segments that are "
            "partly in use; the largest free block has {largest}.",
            stranded=quantity(stranded, "bytes"), share=percent(stranded / held.reserved), when=when,
            largest=quantity(held.largest, "bytes"),
        ),
        actions=layout_actions(s),
        confidence=0.8 if s.maybe(trains) is not None else 0.5,
        rows=({"table": "memory_snapshot", "where": {"device": row["device"]}},),
        numbers={"stranded": stranded, "share": round(stranded / held.reserved, 4), **limits},
    )  # fmt: skip


def _grows(one: Reserve, limits: Limits) -> bool:
    """Whether the allocator holds more and more for steps that use no more than the first ones."""
    if one.held.size < limits["slow_steps"]:
        return False
    held, used = ([int(part.max()) for part in np.array_split(what, _PARTS)] for what in (one.held, one.used))
    rising = all(later > before for before, later in pairwise(held))
    return rising and held[-1] - held[0] >= limits["min_grown"] and max(used[1:]) <= used[0]


def _growing(s: Signals, one: Reserve, limits: Limits) -> Draft:
    return Draft(
        title="The allocator holds more and more for the same use",
        summary=said(
            "Over {size} steps what the allocator holds grows by {grown} to {held}, though no step has more in use "
            "than the first ones ({used}): its free blocks fit what is asked for less and less.",
            size=one.held.size, grown=quantity(int(one.held[-1] - one.held[0]), "bytes"),
            held=quantity(int(one.held[-1]), "bytes"), used=quantity(int(one.used.max()), "bytes"),
        ),
        actions=layout_actions(s),
        confidence=0.6,
        rows=({"table": "memory_timeline", "where": {"device": one.device}},),
        numbers={"grown": int(one.held[-1] - one.held[0]), **limits},
        key="growing",
    )  # fmt: skip


RULE = Rule(
    "MEM003",
    "fragmentation",
    thresholds=(
        Threshold(
            "min_share",
            0.25,
            "share",
            "Of nine public snapshots, only the one kept as an example of stranded "
            "memory (26.7 %) exceeds it; ordinary training runs have 1 to 21 %.",
        ),
        Threshold("slow_steps", 12, "count", "Three steps in each quarter: fewer rise by chance."),
        Threshold("min_grown", 2**28, "bytes", "A few segments more are how an allocator settles."),
        Threshold("min_bytes", 2**30, "bytes", "Small models strand a large share of little memory."),
    ),
    check=check,
    symptom_of=("MEM010",),
)
