"""What some host threads recorded, ordered so that it can be nested."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.model.intervals import Times
from stepscope.model.stretches import Stretch
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What an event can be to those inside it, and which calls can be launches: those after `LAUNCH` where no other is.
OTHER, OP, MODULE, FRAME, LAUNCH, CALL = range(6)
#: What lies on threads.
EVENT, ALLOCATION, ARROW = range(3)

_EVENTS_SQL: Final = f"""
SELECT id, ts, dur, track, name_id, category, correlation, external_id,
    CASE category WHEN 'op' THEN {OP} WHEN 'module' THEN {MODULE} WHEN 'annotation' THEN {MODULE}
        WHEN 'python' THEN {FRAME} WHEN 'launch' THEN {LAUNCH} WHEN 'runtime' THEN {CALL}
        WHEN 'sync' THEN {CALL} ELSE {OTHER} END::UTINYINT AS role,
    id IN (SELECT event FROM device_work WHERE {{chosen}}) AS is_work
FROM raw_events WHERE {{chosen}}
"""
_POINTS_SQL: Final = "SELECT rowid AS id, ts, track FROM {table} WHERE {chosen}"


@dataclass(frozen=True, slots=True)
class HostBatch:
    """n events, allocations and ends of arrows of a stretch, by thread and then in the order of the recording.

    Attributes:
        id: int64[n], ids of events, and rows of the tables that the others are in.
        ts: int64[n].
        dur: int64[n], 0 where it is missing and for what is no event.
        track: int32[n].
        role: uint8[n].
        kind: uint8[n].
        events: The events in the order of their ids, with all columns as staged, and `is_work` for device work.
        event: int64[n], positions in `events`; beyond its end for what is no event.
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
        """All that was recorded there."""
        chosen = stretch.condition
        events = staging.connection.sql(_EVENTS_SQL.format(chosen=chosen)).to_arrow_table().combine_chunks()
        if (np.diff(events["id"].to_numpy()) <= 0).any():
            events = events.sort_by("id")
        parts = [
            {
                **{name: events[name].to_numpy() for name in ("id", "ts", "track", "role")},
                "dur": events["dur"].fill_null(0).to_numpy(),
                "kind": np.full(len(events), EVENT, np.uint8),
            }
        ]
        for kind, table in ((ALLOCATION, "raw_memory"), (ARROW, "raw_flows")):
            parts.append(_points(staging, kind, _POINTS_SQL.format(table=table, chosen=chosen)))
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        order = np.argsort(rows["track"], kind="stable")
        return cls(events=events, event=order, **{name: values[order] for name, values in rows.items()})

    @property
    def threads(self) -> list[tuple[int, int]]:
        """First and last but one position of each thread."""
        edges = (np.flatnonzero(np.diff(self.track)) + 1).tolist()
        return list(pairwise([0, *edges, self.id.size])) if self.id.size else []

    def column(self, name: str, missing: int = 0) -> NDArray[Any]:
        """A column of `events`, [n], with this number where it is missing and for what is no event."""
        values = self.events[name]
        found = (values.fill_null(missing) if values.null_count else values).to_numpy()
        points = self.id.size - found.size
        return np.append(found, np.full(points, missing, found.dtype))[self.event] if points else found[self.event]


def _points(staging: Staging, kind: int, query: str) -> dict[str, NDArray[Any]]:
    rows: dict[str, NDArray[Any]] = staging.connection.execute(query).fetchnumpy()
    n = len(rows["id"])
    rows |= {"dur": np.zeros(n, np.int64), "role": np.full(n, OTHER, np.uint8), "kind": np.full(n, kind, np.uint8)}
    return rows
