"""Which host events are nested together: those of several threads, or a part of a thread that has many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.model.intervals import Times
from stepscope.model.stretches import EVENTS, Stretch, stretches
from stepscope.store.staging import Staging

_COUNTS_SQL: Final = (
    "SELECT track, count(*) FROM raw_events JOIN tracks USING (track) WHERE kind = 'host' GROUP BY 1 ORDER BY 1"
)
_TIMES_SQL: Final = "SELECT ts, ts + coalesce(dur, 0) AS stop FROM raw_events WHERE track = ?"


def host_stretches(staging: Staging, events: int = EVENTS) -> Iterator[Stretch]:
    """All host threads by number and time, about so many events at a time."""

    def times(track: int) -> tuple[Times, Times]:
        rows = staging.connection.execute(_TIMES_SQL, [track]).fetchnumpy()
        return rows["ts"], rows["stop"]

    return stretches(staging.connection.execute(_COUNTS_SQL).fetchall(), times, events)
