"""Events of a stretch of host threads, ordered for nesting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.overview import Overview
from stepscope.model.categories import CATEGORIES
from stepscope.model.events.stretches import Stretch, stretches
from stepscope.model.intervals import Times, ascending
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray


#: Roles of an event for those inside it. Calls after `LAUNCH` count as launches only where there is no other.
OTHER, OP, MODULE, FRAME, LAUNCH, CALL = range(6)
#: Kinds of rows on threads.
EVENT, ALLOCATION, FLOW = range(3)

_ROLES: Final = {
    "op": OP, "module": MODULE, "annotation": MODULE, "python": FRAME, "launch": LAUNCH, "runtime": CALL, "sync": CALL,
}  # fmt: skip
_ROLE: Final = np.array([_ROLES.get(category, OTHER) for category in CATEGORIES], np.uint8)

_EVENTS_SQL: Final = """
SELECT id, ts, dur, track, name_id, enum_code(category)::UTINYINT AS category, correlation, external_id
FROM raw_events WHERE {chosen}
"""
_POINTS_SQL: Final = "SELECT id, ts, track FROM {table} WHERE {chosen}"
_POINTS: Final = ((ALLOCATION, "raw_memory"), (FLOW, "raw_flows"))
_TIMES_SQL: Final = "SELECT ts, ts + coalesce(dur, 0) AS stop FROM raw_events WHERE track = ?"


@dataclass(frozen=True, slots=True)
class HostBatch:
    """n events, allocations and flow ends of a stretch, by thread, then in the order of the recording.

    Attributes:
        id: int64[n], event ids; for allocations and flow ends the row of their table.
        ts: int64[n], start in ns.
        dur: int64[n], duration in ns; 0 where missing, and for allocations and flow ends.
        track: int32[n].
        role: uint8[n], role for the events inside.
        kind: uint8[n], `EVENT`, `ALLOCATION` or `FLOW`.
        events: The events in any order, with all columns as staged, `category` as a position in `CATEGORIES`.
        event: int64[n], positions in `events`; beyond its end for allocations and flow ends.
    """

    id: NDArray[np.int64]
    ts: Times
    dur: Times
    track: NDArray[np.int32]
    role: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    events: pa.Table
    event: NDArray[np.int64]

    @classmethod
    def read(cls, staging: Staging, stretch: Stretch) -> HostBatch:
        """Read a stretch; safe to call from several threads."""
        with staging.connect() as connection:
            points = [(kind, table) for kind, table in _POINTS if staging.may_have(table)]
            return cls._read(connection, stretch.condition, points)

    @classmethod
    def _read(cls, connection: duckdb.DuckDBPyConnection, chosen: str, tables: Sequence[tuple[int, str]]) -> HostBatch:
        events = connection.sql(_EVENTS_SQL.format(chosen=chosen)).to_arrow_table().combine_chunks()
        rows = {name: events[name].to_numpy() for name in ("id", "ts", "track")}
        rows["dur"] = events["dur"].fill_null(0).to_numpy()
        rows["role"] = _ROLE[events["category"].to_numpy()]
        rows["kind"] = np.full(len(events), EVENT, np.uint8)
        order = ascending(rows["id"])
        for kind, table in tables:
            points = _points(connection, kind, _POINTS_SQL.format(table=table, chosen=chosen))
            if points["id"].size:
                order = np.append(order, np.arange(order.size, order.size + points["id"].size))
                rows = {name: np.append(values, points[name]) for name, values in rows.items()}
        order = order[ascending(rows["track"][order])]
        return cls(events=events, event=order, **{name: values[order] for name, values in rows.items()})

    def values(self, name: str, rows: NDArray[np.int64], missing: int = 0) -> NDArray[Any]:
        """A column of `events` for rows that are events; `missing` replaces nulls."""
        column, at = self.events[name], self.event[rows]
        # Nulls are filled in the selected part only.
        values: NDArray[Any] = (
            column.take(pa.array(at)).fill_null(missing).to_numpy() if column.null_count else column.to_numpy()[at]
        )
        return values


def _points(connection: duckdb.DuckDBPyConnection, kind: int, query: str) -> dict[str, NDArray[Any]]:
    rows: dict[str, NDArray[Any]] = connection.execute(query).fetchnumpy()
    n = len(rows["id"])
    rows |= {"dur": np.zeros(n, np.int64), "role": np.full(n, OTHER, np.uint8), "kind": np.full(n, kind, np.uint8)}
    return rows


def host_stretches(staging: Staging, overview: Overview, events: int | None = None) -> Iterator[Stretch]:
    """Split all host threads, by number and time, into stretches of about `events` events."""

    def times(track: int) -> tuple[Times, Times]:
        rows = staging.connection.execute(_TIMES_SQL, [track]).fetchnumpy()
        return rows["ts"], rows["stop"]

    threads = sorted(overview.hosts & overview.by_track.keys())
    return stretches([(track, overview.by_track[track]) for track in threads], times, events)
