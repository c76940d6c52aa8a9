"""A value for the allocator's `max_split_size_mb`, from the sizes in a snapshot."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.analyses.snapshots.memory_snapshot_levels import NEVER, snapshot_levels
from stepscope.model.intervals import Times
from stepscope.signals.signal import Signals, signal
from stepscope.signals.snapshots.peak_makeup import makeup

#: The allocator refuses values up to its large buffer (kLargeBuffer, 20 MiB); powers of two are what people set.
_LEAST: Final = 32
#: Of the blocks that pin segments, this part must stay below the limit.
_PART: Final = 0.9
_MIB: Final = 1 << 20
_FAILED_SQL: Final = "SELECT max(bytes) FROM allocator_events WHERE action = 'oom' AND device = $device"
_SEGMENTS_SQL: Final = "SELECT address, address + bytes AS stop FROM segments WHERE device = $device ORDER BY address"


@signal("MiB")
def split_size_mb(s: Signals) -> int | None:
    """The `max_split_size_mb` that would keep large blocks whole; None if no value does.

    Blocks above the limit are not split, and serve only requests above it. So the small blocks that pin large, mostly
    free segments must be below it, and the request that finds no range above it: the failed one, else the largest in
    the history. The value is the least power of two, from 32, above nine of ten pinning blocks.
    """
    device = s(makeup).device
    levels = next(one for one in snapshot_levels(s.trace) if one.device == device)
    rows = levels.rows
    wanted = s.trace.scalar(_FAILED_SQL, {"device": device}) or int(rows["requested"].max(initial=0))
    held = s.trace.columns(_SEGMENTS_SQL, {"device": device})
    live = np.flatnonzero(rows["reusable"] == NEVER)
    pins = pinning(held["address"], held["stop"], rows["address"][live], rows["bytes"][live])
    return split_size(pins, int(wanted))


def pinning(starts: Times, stops: Times, blocks: Times, sizes: Times) -> Times:
    """Sizes of the blocks in segments that are more than half free, and of 20 MiB or more.

    Args:
        starts: Starts of the segments, ascending.
        stops: Their ends.
        blocks: Addresses of the blocks in use.
        sizes: Their bytes.
    """
    if not starts.size or not blocks.size:
        return np.zeros(0, np.int64)
    owner = np.searchsorted(starts, blocks, side="right") - 1
    inside = (owner >= 0) & (blocks < stops[np.maximum(owner, 0)])
    used = np.bincount(owner[inside], weights=sizes[inside], minlength=starts.size)
    room = stops - starts
    loose = (used < room / 2) & (room >= 20 * _MIB)
    found: Times = sizes[inside][loose[owner[inside]]]
    return found


def split_size(pins: Times, wanted: int) -> int | None:
    """The value in MiB, from the sizes of pinning blocks and the bytes of the request; None if there is none."""
    if not pins.size:
        return None
    least = int(np.quantile(pins, _PART, method="higher"))
    value = _LEAST
    while value * _MIB <= least:
        value *= 2
    return value if value * _MIB < wanted else None
