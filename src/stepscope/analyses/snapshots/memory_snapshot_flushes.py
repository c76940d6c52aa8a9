"""When the allocator gave its cache back to the device, and why."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.snapshots.memory_snapshot_levels import snapshot_devices
from stepscope.analyses.snapshots.memory_snapshot_stacks import STACK_COLUMNS, described
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, count, ident, ns, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

CACHE_FLUSHES = TableSchema(
    "cache_flushes",
    "One row per time that the caching allocator gave segments back to the device, as the history of a memory snapshot "
    "has it: segments given back one after the other, with nothing in between.",
    (
        Column("device", "int32", "Device index."),
        RANK,
        ns("ts", "When the first segment was given back."),
        text(
            "cause",
            "empty_cache: the program asked for it, by the stack. retry: an allocation had failed, and succeeded "
            "afterwards. failed: one had failed, and failed again. garbage_collection: the allocator's setting. "
            "unknown: no stack tells.",
        ),
        count("segments", "Segments given back."),
        size("bytes", "Their bytes."),
        ns("dur", "Until the allocation that made it went through or failed; of others from the first segment to the "
           "last, each of which waits for the device."),
        count("taken_after", "Segments taken from the device until the next such time, or the end."),
        size("requested_bytes", "What the allocation that made it asked for; null for others.", nullable=True),
        ident("stack", "Row of `call_stacks`: what gave the segments back; null if unknown.", nullable=True),
        *STACK_COLUMNS,
    ),
)  # fmt: skip

_SQL: Final = """
SELECT ts, coalesce(bytes, 0) AS bytes, coalesce(stack, -1) AS stack,
    CASE action WHEN 'segment_free' THEN 0 WHEN 'segment_unmap' THEN 0 WHEN 'segment_alloc' THEN 1
        WHEN 'segment_map' THEN 1 WHEN 'oom' THEN 2 WHEN 'alloc' THEN 3 ELSE 4 END AS kind
FROM allocator_events WHERE device = $device ORDER BY seq
"""
_GIVEN, _TAKEN, _FAILED, _ALLOC = 0, 1, 2, 3

#: torch/cuda/memory.py: empty_cache, and CUDACachingAllocator's emptyCache where only compiled code has frames.
_EMPTYING_SQL: Final = """
SELECT stack FROM call_stacks WHERE list_has_any(frames, (
    SELECT coalesce(list(frame), []) FROM call_frames WHERE regexp_matches(text, '(empty_cache|emptyCache)\\b')))
"""


def cache_flushes(trace: Trace) -> Table:
    """Find each time that segments were given back; no rows if there was none.

    Raises:
        MissingInputError: The recording has no memory snapshot with a history.
    """
    devices = snapshot_devices(trace)
    if not trace.scalar("SELECT count(*) FROM allocator_events WHERE action = 'alloc' OR action LIKE 'segment_%'"):
        raise MissingInputError.of("history")
    emptying = trace.columns(_EMPTYING_SQL)["stack"].astype(np.int64)
    collects = _collects(trace)
    rows = [
        (device, trace.ranks[0], *row)
        for device in devices
        for row in _of_device(trace.columns(_SQL, {"device": device}), emptying, collects)
    ]
    stacks = described(trace, [row[-1] for row in rows])
    return Table.from_rows(
        CACHE_FLUSHES, [(*row[:-1], None if row[-1] < 0 else row[-1], *stacks[row[-1]]) for row in rows]
    )


def _collects(trace: Trace) -> bool:
    """Whether the allocator returns segments by itself above some fill level (`garbage_collection_threshold`)."""
    threshold = trace.recordings[trace.ranks[0]].attributes.get("allocator.garbage_collection_threshold", 0.0)
    return isinstance(threshold, (int, float)) and threshold > 0


def _of_device(events: dict[str, NDArray[Any]], emptying: Times, collects: bool) -> list[tuple[Any, ...]]:
    """The columns of the table from `ts` to `requested_bytes`, then the stack, -1 if unknown."""
    ts, kind, bytes_, stack = events["ts"], events["kind"], events["bytes"], events["stack"]
    given = kind == _GIVEN
    edges = np.diff(given.astype(np.int8), prepend=0, append=0)
    first, end = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    taking = np.flatnonzero(kind == _TAKEN)
    bounds = np.searchsorted(taking, np.append(end, kind.size))
    rows = []
    for number, (low, high) in enumerate(zip(first.tolist(), end.tolist(), strict=True)):
        by = int(stack[low])
        cause = _cause(int(kind[high]) if high < kind.size else -1, by, int(stack[min(high, kind.size - 1)]),
                       bool(np.isin(by, emptying)), collects)  # fmt: skip
        asked = cause not in ("empty_cache", "unknown")
        rows.append(
            (
                int(ts[low]), cause, high - low, int(bytes_[low:high].sum()),
                int(ts[high if asked else high - 1] - ts[low]),
                int(bounds[number + 1] - bounds[number]),
                _requested(kind, bytes_, high) if asked else None, by,
            )
        )  # fmt: skip
    return rows


def _cause(after: int, by: int, stack: int, emptied: bool, collects: bool) -> str:
    """Why segments were given back, from the entry after them and the two stacks.

    A failing allocation gives the cache back and tries again, all under one lock and with one stack.
    """
    if emptied:
        return "empty_cache"
    if after == _FAILED:
        return "failed"
    if after != _TAKEN or by < 0 or by != stack:
        return "unknown"
    return "garbage_collection" if collects else "retry"


def _requested(kind: Times, bytes_: Times, at: int) -> int:
    """Bytes that were asked for: by the failed allocation itself, or by the one that got the new segment."""
    follows = kind[at] == _TAKEN and at + 1 < kind.size and kind[at + 1] == _ALLOC
    return int(bytes_[at + 1 if follows else at])


ANALYSES = (Analysis(CACHE_FLUSHES, cache_flushes),)
