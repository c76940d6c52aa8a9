"""Stretches of host events that are nested together: several threads, or a part of a long one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.ingest.derive.overview import Overview
from stepscope.model.events.stretches import Stretch, stretches
from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

_TIMES_SQL: Final = "SELECT ts, ts + coalesce(dur, 0) AS stop FROM raw_events WHERE track = ?"


def host_stretches(staging: Staging, overview: Overview, events: int | None = None) -> Iterator[Stretch]:
    """Split all host threads, by number and time, into stretches of about `events` events."""

    def times(track: int) -> tuple[Times, Times]:
        rows = staging.connection.execute(_TIMES_SQL, [track]).fetchnumpy()
        return rows["ts"], rows["stop"]

    threads = sorted(overview.hosts & overview.by_track.keys())
    return stretches([(track, overview.by_track[track]) for track in threads], times, events)
