"""The caching allocator's memory after every entry of its history, from a snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_DEVICES_SQL: Final = """
SELECT device FROM segments UNION SELECT device FROM allocator_events WHERE address IS NOT NULL ORDER BY device
"""
#: In place of the end of what has none; beyond every position.
NEVER: Final = 1 << 62

_ALLOCATIONS_SQL: Final = f"""
SELECT requested, bytes, coalesce(stack, -1) AS stack, address, coalesce(seq, -1) AS seq,
    coalesce(freed_seq, {NEVER}) AS freed, coalesce(reusable_seq, {NEVER}) AS reusable
FROM allocations WHERE device = ?
"""
_EVENTS_SQL: Final = """
SELECT ts, CASE WHEN action IN ('segment_alloc', 'segment_map') THEN coalesce(bytes, 0)
    WHEN action IN ('segment_free', 'segment_unmap') THEN -coalesce(bytes, 0) ELSE 0 END AS reserved
FROM allocator_events WHERE device = ? ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class SnapshotLevels:
    """The memory of one device after each of the n entries of its history; row 0 is before the first.

    Attributes:
        device: Index.
        ts: int64[n + 1], time of the entry; that of row 0 is the first entry's.
        reserved: int64[n + 1], bytes held from the device.
        allocated: int64[n + 1], bytes of blocks in use by the program.
        active: int64[n + 1], and of those that it freed but a queue may still use.
        requested: int64[n + 1], bytes that the program had asked for and still used.
        rows: The columns of `allocations` that the levels were made from: -1 for no stack and for what is older than
            the history, NEVER for an end that is not there.
    """

    device: int
    ts: Times
    reserved: Times
    allocated: Times
    active: Times
    requested: Times
    rows: dict[str, Any]

    @property
    def peak(self) -> int:
        """Row of the highest `requested`, the first if there are several."""
        return int(self.requested.argmax())

    def live(self, row: int) -> Times:
        """Positions in `rows` of the allocations that the program used after a row."""
        made, freed = self.rows["seq"], self.rows["freed"]
        # The entry at position p leads to row p + 1.
        found: Times = np.flatnonzero((made < row) & (freed >= row))
        return found


def snapshot_devices(trace: Trace) -> list[int]:
    """Devices whose allocator state or history is recorded.

    Raises:
        MissingInputError: There is none.
    """
    return trace.once(_devices)


def _devices(trace: Trace) -> list[int]:
    devices: list[int] = [row["device"] for row in trace.rows(_DEVICES_SQL) if row["device"] is not None]
    if not devices:
        raise MissingInputError.of("snapshot")
    return devices


def snapshot_levels(trace: Trace) -> list[SnapshotLevels]:
    """The levels of each device, by device; without history only row 0, the state at the snapshot.

    Raises:
        MissingInputError: The recording has no memory snapshot.
    """
    return [_levels(trace, device) for device in snapshot_devices(trace)]


def _levels(trace: Trace, device: int) -> SnapshotLevels:
    rows = trace.columns(_ALLOCATIONS_SQL, [device])
    events = trace.columns(_EVENTS_SQL, [device])
    n = events["ts"].size
    change = events["reserved"].astype(np.int64)
    final = trace.scalar("SELECT sum(bytes)::BIGINT FROM segments WHERE device = ?", [device])
    net = np.concatenate([[0], np.cumsum(change)])
    base = -int(net.min()) if final is None else max(0, int(final) - int(net[-1]))
    return SnapshotLevels(
        device=device,
        ts=np.concatenate([events["ts"][:1], events["ts"]]) if n else np.zeros(1, np.int64),
        reserved=net + base,
        allocated=_running(n, rows["bytes"], rows["seq"], rows["freed"]),
        active=_running(n, rows["bytes"], rows["seq"], rows["reusable"]),
        requested=_running(n, rows["requested"], rows["seq"], rows["freed"]),
        rows=rows,
    )


def _running(n: int, amount: Times, start: Times, end: Times) -> Times:
    """Sum of what has started and not ended after each of n entries; entry p counts from row p + 1 on."""
    change = np.zeros(n + 1, np.int64)
    np.add.at(change, start + 1, amount)
    ended = end < n
    np.subtract.at(change, end[ended] + 1, amount[ended])
    level: Times = np.cumsum(change)
    return level
