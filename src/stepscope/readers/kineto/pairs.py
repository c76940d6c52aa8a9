"""Pair begin and end events (phases B and E) of the Chrome format to intervals."""

from __future__ import annotations

import pyarrow as pa

from stepscope.readers.kineto.vocabulary import event_kind
from stepscope.store.staging import Staging


def add_pairs(staging: Staging) -> None:
    """Stage an event for every B event, without duration if it has no E event.

    E events without a B event are counted in health: they end events from before the recording.
    """
    rows = staging.connection.execute(
        "SELECT pid, tid, ph, ts, i, cat, name FROM kineto_ends ORDER BY pid, tid, ts, i"
    ).fetchall()
    open_events: dict[tuple[str, str], list[tuple[int, int, str, str]]] = {}
    found: list[tuple[int, int, int | None, int, str, str]] = []
    unmatched = 0
    for pid, tid, phase, ts, index, cat, name in rows:
        stack = open_events.setdefault((pid, tid), [])
        track = staging.track("host", process=pid, thread=tid)
        if phase == "B":
            stack.append((index, ts, cat, name))
        elif stack:
            begun, start, start_cat, start_name = stack.pop()
            found.append((begun, start, ts - start, track, start_cat, start_name))
        else:
            unmatched += 1
    for (pid, tid), stack in open_events.items():
        track = staging.track("host", process=pid, thread=tid)
        found += [(index, start, None, track, cat, name) for index, start, cat, name in stack]
    _insert(staging, found)
    staging.observe(
        "ends-unmatched", "info", unmatched, "end events have no begin event",
        "what they ended began before the recording and is missing",
    )  # fmt: skip


def _insert(staging: Staging, found: list[tuple[int, int, int | None, int, str, str]]) -> None:
    if not found:
        return
    table = pa.table(
        {
            "id": [row[0] for row in found],
            "ts": [row[1] for row in found],
            "dur": pa.array([row[2] for row in found], pa.int64()),
            "track": [row[3] for row in found],
            "name": [row[5] for row in found],
            "category": [event_kind(row[4], row[5]).category for row in found],
        }
    )
    staging.connection.register("paired", table)
    staging.intern_names("paired")
    staging.connection.execute(
        "INSERT INTO raw_events BY NAME "
        "SELECT id, ts, dur, track, name_id, category FROM paired JOIN names USING (name)"
    )
    staging.connection.unregister("paired")
