"""Free ranges of a device's segments at a moment of its history, and their sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.snapshots.memory_snapshot_levels import SnapshotLevels
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_FINAL_SQL: Final = """
SELECT address, bytes, coalesce(expandable, false) AS expandable FROM segments WHERE device = ? ORDER BY address
"""
_LATER_SQL: Final = """
SELECT action IN ('segment_alloc', 'segment_map') AS taken, action IN ('segment_map', 'segment_unmap') AS expandable,
    address, bytes
FROM allocator_events
WHERE device = ? AND seq >= ? AND starts_with(action, 'segment_') AND address IS NOT NULL AND bytes > 0
ORDER BY seq DESC
"""

#: Ranges of device memory: end and whether it is mapped into an expandable segment, by start.
Ranges = dict[int, tuple[int, bool]]


@dataclass(frozen=True, slots=True)
class FreeLayout:
    """Free bytes of a device at a moment.

    Attributes:
        reserved: Bytes of the segments.
        free: Bytes of them in no active block.
        releasable: Of those, bytes of segments without any active block.
        largest: The largest free range of a segment.
    """

    reserved: int
    free: int
    releasable: int
    largest: int


def layout(trace: Trace, levels: SnapshotLevels, row: int) -> FreeLayout:
    """The layout after a row of the levels: the final segments with what happened later undone.

    Sizes of blocks that are gone are estimates (`allocations.bytes`), so free ranges may in truth be smaller.
    """
    ranges = _ranges(trace, levels.device, row)
    starts = np.array(sorted(ranges), np.int64)
    ends = np.array([ranges[start][0] for start in starts.tolist()], np.int64)
    rows = levels.rows
    active = np.flatnonzero((rows["seq"] < row) & (rows["reusable"] >= row))
    return _measured(starts, ends, rows["address"][active], rows["bytes"][active])


def _ranges(trace: Trace, device: int, row: int) -> Ranges:
    held = trace.rows(_FINAL_SQL, [device])
    ranges: Ranges = {s["address"]: (s["address"] + s["bytes"], s["expandable"]) for s in held}
    later = trace.rows(_LATER_SQL, [device, row])
    for event in later:
        start, end = event["address"], event["address"] + event["bytes"]
        if event["taken"]:
            _remove(ranges, start, end, event["expandable"])
        else:
            ranges[start] = (end, event["expandable"])
    return _joined(ranges) if later else ranges


def _remove(ranges: Ranges, start: int, end: int, expandable: bool) -> None:
    """Remove a range. Adjacent mapped parts of an expandable segment end up as one range."""
    first = start
    if start not in ranges:
        if not expandable:
            return
        around = [low for low, (stop, _) in ranges.items() if low < start < stop]
        if not around:
            return
        first = around[0]
    stop, kind = ranges.pop(first)
    if first < start:
        ranges[first] = (start, kind)
    if end < stop:
        ranges[end] = (stop, kind)


def _joined(ranges: Ranges) -> Ranges:
    """The ranges with adjacent mapped parts joined, since blocks may span them."""
    joined: Ranges = {}
    last = None
    for start in sorted(ranges):
        end, expandable = ranges[start]
        if last is not None and expandable and joined[last] == (start, True):
            joined[last] = (end, True)
        else:
            joined[start] = (end, expandable)
            last = start
    return joined


def _measured(starts: Times, ends: Times, blocks: Times, sizes: Times) -> FreeLayout:
    """Free ranges: from each segment's start or a block's end to the next block or the segment's end."""
    if not starts.size:
        return FreeLayout(0, 0, 0, 0)
    owner = np.searchsorted(starts, blocks, side="right") - 1
    inside = (owner >= 0) & (blocks < ends[np.maximum(owner, 0)])
    blocks, sizes, owner = blocks[inside], sizes[inside], owner[inside]
    stops = np.minimum(blocks + sizes, ends[owner])
    # Every segment's begin as a block of no size: what follows each of them up to the next, or the end, is free.
    at = np.concatenate([starts, blocks])
    until = np.concatenate([starts, stops])
    segment = np.concatenate([np.arange(starts.size), owner])
    order = np.lexsort((until, at))
    until, segment, at = until[order], segment[order], at[order]
    following = np.append(at[1:], ends[-1])
    last = np.append(segment[1:] != segment[:-1], True)
    gaps = np.maximum(np.where(last, ends[segment], following) - until, 0)
    used = np.zeros(starts.size, np.bool_)
    used[owner] = True
    size = ends - starts
    return FreeLayout(int(size.sum()), int(gaps.sum()), int(size[~used].sum()), int(gaps.max()))
