"""Stage a loaded snapshot."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from stepscope.readers.memsnapshot.clock import Int, clock
from stepscope.readers.memsnapshot.contents import Loaded
from stepscope.readers.memsnapshot.device import ACTION_SQL, DeviceHistory, Entries, Found, Live, reconstruct
from stepscope.readers.memsnapshot.entries import Block, stream
from stepscope.readers.memsnapshot.history import History
from stepscope.readers.memsnapshot.values import address, device, pool_name, size
from stepscope.store.staging import Staging

_ENTRIES_SQL: Final = f"""
SELECT {ACTION_SQL} AS action, coalesce(address, 0) AS address, coalesce(bytes, 0) AS bytes,
    coalesce(stack, -1) AS stack, coalesce(time_us, 0) AS time_us
FROM usable_entries WHERE part = ?
"""

_EVENTS_SQL: Final = """
INSERT INTO allocator_events BY NAME
SELECT e.seq, c.ts, $device::INTEGER AS device, coalesce(left(e.action, 40), 'unknown') AS action, e.address,
    e.bytes, e.stream, e.pool, e.stack, e.device_free,
    nullif(e.category, '') AS category, nullif(nullif(e.context, ''), 'N/A') AS context,
    nullif(left(e.metadata, 200), '') AS metadata
FROM (SELECT * FROM usable_entries WHERE part = $part) e POSITIONAL JOIN clocked c
"""

_EXTRAS_SQL: Final = """
CREATE OR REPLACE TEMP TABLE extras AS
SELECT seq, stream, category FROM usable_entries WHERE part = ? AND (stream IS NOT NULL OR category IS NOT NULL)
"""

#: Blocks in use without an entry in the history have the stream of their segment.
_ALLOCATIONS_SQL: Final = """
INSERT INTO allocations BY NAME
SELECT a.*, coalesce(x.stream, f.stream) AS stream, x.category, $device::INTEGER AS device
FROM made a
LEFT JOIN extras x ON x.seq = coalesce(a.seq, a.freed_seq, a.reusable_seq)
LEFT JOIN final_streams f ON f.address = a.address AND a.seq IS NULL AND a.reusable_seq IS NULL
ORDER BY coalesce(a.seq, -1), a.address
"""

_FINAL_SQL: Final = """
CREATE OR REPLACE TEMP TABLE final_streams AS
SELECT b.address, any_value(s.stream) AS stream FROM blocks b JOIN segments s USING (segment)
WHERE b.device = ? AND b.state <> 'inactive' GROUP BY 1
"""


def stage_segments(staging: Staging, loaded: Loaded, history: History) -> dict[int, tuple[Live, int]]:
    """Fill `segments` and `blocks`; returns the blocks in use and the reserved bytes of each device."""
    segments: list[dict[str, Any]] = []
    blocks: list[tuple[int, int, int, int, int | None, str, int | None]] = []
    for row in sorted(loaded.segments, key=lambda row: (device(row.get("device")), address(row.get("address")) or 0)):
        segment = _segment(row, len(segments), history)
        segments.append(segment)
        at = segment["address"]
        held: list[Block] = row["blocks"]
        for place, width, requested, state, stack in held:
            at = at if place is None else place
            blocks.append((segment["segment"], segment["device"], at, width, requested, state, stack))
            at += width
    history.flush()
    if segments:
        staging.insert("segments", pa.Table.from_pylist(segments, schema=_SEGMENT_SCHEMA))
    if blocks:
        columns = zip(*blocks, strict=True)
        arrays = [pa.array(values, field.type) for field, values in zip(_BLOCK_SCHEMA, columns, strict=True)]
        staging.insert("blocks", pa.Table.from_arrays(arrays, schema=_BLOCK_SCHEMA))
    return {index: _live(staging, index) for index in sorted({row["device"] for row in segments})}


def _segment(row: dict[str, Any], number: int, history: History) -> dict[str, Any]:
    width = size(row.get("total_size"))
    kind = row.get("segment_type")
    return {
        "segment": number,
        "device": device(row.get("device")),
        "address": address(row.get("address")) or 0,
        "bytes": sum(block[1] for block in row["blocks"]) if width is None else width,
        "stream": stream(row.get("stream")),
        "kind": kind if kind in ("small", "large") else None,
        "pool": pool_name(row.get("segment_pool_id")),
        "expandable": bool(row["is_expandable"]) if "is_expandable" in row else None,
        "stack": history.stacks.number(row.get("frames", [])),
    }


def _live(staging: Staging, index: int) -> tuple[Live, int]:
    found = staging.connection.execute(
        "SELECT address, bytes, coalesce(requested, bytes) AS requested, coalesce(stack, -1) AS stack FROM blocks "
        "WHERE device = ? AND state <> 'inactive'",
        [index],
    ).fetchnumpy()
    [reserved] = staging.one("SELECT sum(bytes)::BIGINT FROM segments WHERE device = ?", [index])
    return Live(**{name: np.asarray(values, np.int64) for name, values in found.items()}), int(reserved)


def part_times(staging: Staging, part: int) -> Int:
    """Recorded times of a part in microseconds, 0 where missing."""
    found = staging.connection.execute(
        "SELECT coalesce(time_us, 0) AS time_us FROM usable_entries WHERE part = ?", [part]
    ).fetchnumpy()
    return np.asarray(found["time_us"], np.int64)


def stage_device(
    staging: Staging, index: int, part: int | None, final: tuple[Live, int] | None, origin: int
) -> tuple[Found, int, int | None]:
    """Fill `allocator_events`, `allocations` and `raw_memory` of one device.

    Args:
        staging: The staging area.
        index: The device.
        part: Part with its history; None if it has none.
        final: Blocks in use and reserved bytes at the end; None if no segments are recorded for it.
        origin: Time of the recording's first event in ns, which becomes 0; 0 if it has no times.

    Returns:
        Counts of inconsistencies, number of corrected times, and end of the history in ns relative to the origin.
    """
    columns = staging.connection.execute(_ENTRIES_SQL, [-1 if part is None else part]).fetchnumpy()
    found = {name: np.asarray(values, np.int64) for name, values in columns.items()}
    times = clock(found.pop("time_us"))
    ts = np.arange(found["action"].size) if times.ns is None else times.ns - origin
    live, reserved = final or (Live(*[np.zeros(0, np.int64)] * 4), None)
    result = reconstruct(Entries(**found, ts=ts), live, reserved)
    if part is not None:
        staging.connection.register("clocked", pa.table({"ts": ts}))
        staging.connection.execute(_EVENTS_SQL, {"device": index, "part": part})
        staging.connection.unregister("clocked")
    _stage_allocations(staging, index, part, result)
    if result.memory:
        memory = {**result.memory, "ts": result.memory["ts"] + origin}
        memory["device"] = pa.array([index] * len(memory["ts"]), pa.int32())
        staging.insert("raw_memory", pa.table(memory))
    return result.found, times.mended, int(ts[-1]) if ts.size else None


def _stage_allocations(staging: Staging, index: int, part: int | None, result: DeviceHistory) -> None:
    connection = staging.connection
    connection.execute(_EXTRAS_SQL, [-1 if part is None else part])
    connection.execute(_FINAL_SQL, [index])
    connection.register("made", pa.table(result.allocations))
    connection.execute(_ALLOCATIONS_SQL, {"device": index})
    connection.unregister("made")


_SEGMENT_SCHEMA: Final = pa.schema(
    [
        ("segment", pa.int64()), ("device", pa.int32()), ("address", pa.int64()), ("bytes", pa.int64()),
        ("stream", pa.string()), ("kind", pa.string()), ("pool", pa.string()), ("expandable", pa.bool_()),
        ("stack", pa.int64()),
    ]
)  # fmt: skip
_BLOCK_SCHEMA: Final = pa.schema(
    [
        ("segment", pa.int64()), ("device", pa.int32()), ("address", pa.int64()), ("bytes", pa.int64()),
        ("requested", pa.int64()), ("state", pa.string()), ("stack", pa.int64()),
    ]
)  # fmt: skip
