"""What the caching allocator held at a snapshot: segments, their use, and memory that stays unusable."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import by_name
from stepscope.analyses.snapshots.memory_snapshot_levels import snapshot_levels
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, count, flag, fraction, number, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

_DEVICE: Final = Column("device", "int32", "Device index.")

_HELD: Final = (
    count("segments", "Segments of device memory that the allocator held."),
    size("reserved_bytes", "Bytes of the segments."),
    size("allocated_bytes", "Bytes of blocks that the program used."),
    size("active_bytes", "Those, and bytes of blocks that it freed but a queue may still use."),
    size("requested_bytes", "Bytes that the program had asked for in the active blocks."),
    size("inactive_bytes", "reserved - active: cached."),
    size("releasable_bytes", "Bytes of segments without any active block, which emptying the cache gives back."),
    size("stranded_bytes", "inactive - releasable: free bytes in segments that are in use."),
    size("largest_free_bytes", "The largest inactive block: no larger allocation fits without a new segment."),
)
_DERIVED: Final = (
    size("rounding_bytes", "active - requested: lost within blocks."),
    fraction("rounding_share", "rounding / active (internal fragmentation); 0 if nothing is active."),
    fraction("cached_share", "inactive / reserved; 0 if nothing is reserved."),
    fraction("stranded_share", "stranded / reserved (external fragmentation); 0 if nothing is reserved."),
)

MEMORY_SNAPSHOT = TableSchema(
    "memory_snapshot",
    "One row per device of a memory snapshot.",
    (
        _DEVICE,
        *_HELD,
        number(
            "segment_calls_per_1000_allocs",
            "Segments taken from and given back to the device, mapped parts of expandable ones included, per thousand "
            "allocations; null without recorded allocations.",
            nullable=True,
        ),
        size("peak_bytes", "Most bytes that the program had asked for and used at a time, as far as recorded."),
        flag("peak_is_lower_bound", "Whether the history is missing, incomplete or younger than some memory in use."),
        RANK,
        *_DERIVED,
    ),
)

MEMORY_POOLS = TableSchema(
    "memory_pools",
    "The same by pool, kind of segments and stream: memory of one can't serve another.",
    (
        _DEVICE,
        RANK,
        text("pool", "Private pool as `graph.user`; null for the shared one.", nullable=True),
        text("kind", "small or large: the allocations that the segments serve; null if not recorded.", nullable=True),
        flag("expandable", "Whether the segments are parts of expandable ones; null if not recorded.", nullable=True),
        text("stream", "Queue that the memory belongs to; null if not recorded.", nullable=True),
        *_HELD,
        *_DERIVED,
    ),
)

_HELD_SQL: Final = """
WITH held AS (
    SELECT segment, coalesce(sum(bytes) FILTER (WHERE state = 'active'), 0) AS allocated,
        coalesce(sum(bytes) FILTER (WHERE state <> 'inactive'), 0) AS active,
        coalesce(sum(coalesce(requested, bytes)) FILTER (WHERE state <> 'inactive'), 0) AS requested,
        coalesce(max(bytes) FILTER (WHERE state = 'inactive'), 0) AS largest
    FROM blocks GROUP BY segment
), sums AS (
    SELECT {keys}, count(*) AS segments, sum(s.bytes)::BIGINT AS reserved_bytes,
        coalesce(sum(h.allocated), 0)::BIGINT AS allocated_bytes, coalesce(sum(h.active), 0)::BIGINT AS active_bytes,
        coalesce(sum(h.requested), 0)::BIGINT AS requested_bytes, reserved_bytes - active_bytes AS inactive_bytes,
        coalesce(sum(s.bytes) FILTER (WHERE coalesce(h.active, 0) = 0), 0)::BIGINT AS releasable_bytes,
        inactive_bytes - releasable_bytes AS stranded_bytes,
        coalesce(max(h.largest), 0)::BIGINT AS largest_free_bytes
    FROM segments s LEFT JOIN held h USING (segment) GROUP BY {keys}
)
SELECT *, active_bytes - requested_bytes AS rounding_bytes,
    coalesce(rounding_bytes / nullif(active_bytes, 0), 0)::DOUBLE AS rounding_share,
    coalesce(inactive_bytes / nullif(reserved_bytes, 0), 0)::DOUBLE AS cached_share,
    coalesce(stranded_bytes / nullif(reserved_bytes, 0), 0)::DOUBLE AS stranded_share
FROM sums
"""

_DEVICES_SQL: Final = f"""
SELECT h.*, p.* EXCLUDE (device), c.segment_calls_per_1000_allocs FROM ({_HELD_SQL.format(keys="s.device")}) h
JOIN (SELECT unnest($devices) AS device, unnest($peaks) AS peak_bytes, unnest($bounds) AS peak_is_lower_bound) p
    USING (device)
LEFT JOIN (
    SELECT device, 1000 * count(*) FILTER (WHERE starts_with(action, 'segment_'))
        / nullif(count(*) FILTER (WHERE action = 'alloc'), 0) AS segment_calls_per_1000_allocs
    FROM allocator_events GROUP BY device
) c USING (device) ORDER BY device
"""
_POOLS_SQL: Final = f"""
SELECT * FROM ({_HELD_SQL.format(keys="s.device, s.pool, s.kind, s.expandable, s.stream")})
ORDER BY device, reserved_bytes DESC, pool NULLS FIRST, kind, expandable, stream
"""
_CUT_SQL: Final = "SELECT count(*) FROM health WHERE code IN ('history-full', 'truncated')"


def memory_snapshot(trace: Trace) -> Table:
    """Sum up the segments and blocks of each device.

    Raises:
        MissingInputError: The recording has no memory snapshot, or one without segments.
    """
    levels = snapshot_levels(trace)
    _need_segments(trace)
    cut = bool(trace.scalar(_CUT_SQL))
    parameters = {
        "devices": [level.device for level in levels],
        "peaks": [int(level.requested.max()) for level in levels],
        "bounds": [cut or level.ts.size == 1 or bool((level.rows["seq"] < 0).any()) for level in levels],
    }
    return by_name(trace, MEMORY_SNAPSHOT, _DEVICES_SQL, parameters)


def memory_pools(trace: Trace) -> Table:
    """Sum up the segments and blocks of each pool.

    Raises:
        MissingInputError: The recording has no memory snapshot, or one without segments.
    """
    _need_segments(trace)
    return by_name(trace, MEMORY_POOLS, _POOLS_SQL)


def _need_segments(trace: Trace) -> None:
    if not trace.scalar("SELECT count(*) FROM segments"):
        raise MissingInputError.of("snapshot")


ANALYSES = (Analysis(MEMORY_SNAPSHOT, memory_snapshot), Analysis(MEMORY_POOLS, memory_pools))
