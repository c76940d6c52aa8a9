"""Repair or drop events with impossible times, drop duplicates, and count both."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

import numpy as np

from stepscope.ingest.derive.overview import Overview
from stepscope.store.staging import Staging

_MINUTE_NS: Final = 60 * 10**9
_HOUR_NS: Final = 60 * _MINUTE_NS
#: No recording lasts a week: profilers hold events in memory. HolisticTraceAnalysis drops longer events too.
_WEEK_NS: Final = 7 * 24 * _HOUR_NS
_EARLIEST: Final = -(2**63) + 1
_LATEST: Final = 2**63 - 1


#: Tables whose rows belong to one event.
_ABOUT_EVENTS: Final = ("raw_kernels", "copies", "collectives", "input_calls")
#: Tables of instants with a column `ts`.
_MOMENTS: Final = ("raw_memory", "raw_flows", "counters", "samples")
#: Those of them whose rows lie within events of host threads, and are found again by `id`.
_WITHIN_EVENTS: Final = ("raw_memory", "raw_flows")
_DEVICE_WORK: Final = ("kernel", "collective", "copy", "set")
_SAME: Final = "track, ts, dur, name_id, correlation"
_WORK_SQL: Final = f"FROM raw_events WHERE dur > 0 AND category IN {_DEVICE_WORK}"
_PLACES_SQL: Final = f"SELECT track, ts {_WORK_SQL}"


def clean_times(staging: Staging) -> tuple[int | None, Overview]:
    """Drop events without a usable time, null unusable durations, and shift time to start at 0.

    Returns:
        The time on the recording's clock that became 0 (None if no event is left), and an overview of what is left.
    """
    overview = Overview.read(staging)
    moments = _bounds(staging)
    dropped = 0 if _all_in_place(overview, moments) else _drop_misplaced(staging)
    dropped += _drop_copies(staging) if overview.has(*_DEVICE_WORK) else 0
    if dropped:
        for table in _ABOUT_EVENTS:
            staging.connection.execute(f"DELETE FROM {table} WHERE event NOT IN (SELECT id FROM raw_events)")
        overview = Overview.read(staging)
    _number_rows(staging, moments)
    if not overview.groups:
        return None, overview
    origin = min(group.first for group in overview.groups)
    _null_durations(staging, overview, max(group.last for group in overview.groups) - origin)
    # The events are many: a view over them costs less than writing them again.
    staging.connection.execute("ALTER TABLE raw_events RENAME TO recorded_events")
    staging.connection.execute(f"CREATE VIEW raw_events AS SELECT * REPLACE (ts - {origin} AS ts) FROM recorded_events")
    move_moments(staging, -origin)
    return origin, overview


def _number_rows(staging: Staging, moments: Container[str]) -> None:
    """Give rows an `id`, in the order of the recording: `rowid` is the database's own, and need not stay the same."""
    for table in filter(staging.may_have, _WITHIN_EVENTS):
        staging.connection.execute(f"ALTER TABLE {table} ADD COLUMN id BIGINT")
        if table in moments:
            staging.connection.execute(f"UPDATE {table} SET id = rowid")


def move_moments(staging: Staging, by: int) -> None:
    """Add `by` ns to all times but those of events."""
    for table in _bounds(staging) if by else ():
        staging.connection.execute(f"UPDATE {table} SET ts = ts + ?", [by])


def _bounds(staging: Staging) -> dict[str, tuple[int, int]]:
    """The first and the last time in each table of instants that has any."""
    filled = [f"SELECT '{table}', min(ts), max(ts) FROM {table}" for table in _MOMENTS if staging.may_have(table)]
    rows = staging.connection.execute(" UNION ALL ".join(filled)).fetchall() if filled else []
    return {table: (first, last) for table, first, last in rows if first is not None}


def _all_in_place(overview: Overview, moments: dict[str, tuple[int, int]]) -> bool:
    """Whether `_drop_misplaced` would drop nothing, judged from extremes of times alone."""
    firsts = [group.first for group in overview.groups] + [first for first, _ in moments.values()]
    lasts = [group.last for group in overview.groups] + [last for _, last in moments.values()]
    first, last = min(firsts, default=0), max(lasts, default=0)
    # On a clock that starts near 0, an event at 0 has a time.
    return (first > 0 or last <= _MINUTE_NS) and last - first <= _WEEK_NS


def _drop_misplaced(staging: Staging) -> int:
    """Drop events without a plausible start time; returns their number."""
    middle, first = staging.one(
        "SELECT median(ts)::BIGINT, min(ts) FILTER (WHERE ts > 0) FROM raw_events WHERE id % (1 + (SELECT count(*) "
        "FROM raw_events) // 100000) = 0 AND ts <> 0"
    )
    if middle is None:
        return 0
    # An event at exactly 0 is a missing time unless the clock itself starts near 0.
    zero = "ts = 0" if first is not None and first > _MINUTE_NS else "false"
    # Bounds, since the distance of two times may not fit into 64 bits.
    condition = f"ts < {max(middle - _WEEK_NS, _EARLIEST)} OR ts > {min(middle + _WEEK_NS, _LATEST)} OR {zero}"
    [dropped] = staging.one(f"DELETE FROM raw_events WHERE {condition}")
    staging.observe(
        "time-missing",
        "error",
        dropped,
        "events have no usable start time (zero, or more than a week away from all others)",
        "they are left out of every number; sums over the recording are too low",
    )
    lost = sum(staging.one(f"DELETE FROM {table} WHERE {condition}")[0] for table in _MOMENTS)
    staging.observe(
        "samples-misplaced",
        "warning",
        int(lost),
        "samples of memory, counters or processors, or ends of flows, are more than a week away from all events",
        "they are left out: a table of another recording may lie beside this one",
    )
    return int(dropped)


def _drop_copies(staging: Staging) -> int:
    """Drop exact duplicates of events; returns their number.

    Equal device work on one queue is always a duplicate, a cheap test whether a recording has any. Without it, equal
    host events are kept: they may be frames of a recursion on a coarse clock.
    """
    found = staging.connection.execute(_PLACES_SQL).fetchnumpy()
    order = np.argsort(found["ts"], kind="stable")  # almost sorted: a stable sort merges runs
    ts = found["ts"][order]
    again = ts[1:] == ts[:-1]
    together = order[np.append(again, False) | np.append(False, again)] if order.size else order
    track, ts = found["track"][together], found["ts"][together]
    order = np.lexsort((track, ts))
    track, ts = track[order], ts[order]
    if not ((ts[1:] == ts[:-1]) & (track[1:] == track[:-1])).any():
        return 0
    [copies] = staging.one(f"SELECT count(*) - count(DISTINCT hash({_SAME})) FROM ({_WORK_SQL})")
    if not copies:
        return 0
    [dropped] = staging.one(
        "DELETE FROM raw_events WHERE id IN (SELECT id FROM ("
        f"SELECT id, row_number() OVER (PARTITION BY {_SAME}, external_id ORDER BY id) AS nth FROM raw_events "
        "WHERE dur > 0) WHERE nth > 1)"
    )
    staging.observe(
        "events-duplicated", "warning", dropped, "events are there twice, the same in everything",
        "each counts once",
    )  # fmt: skip
    return int(dropped)


def _null_durations(staging: Staging, overview: Overview, span: int) -> None:
    # A duration is an overflow if it is long in itself and dwarfs all that was recorded.
    limit = max(_HOUR_NS, 2 * span)
    for code, wrong, condition, message in (
        (
            "duration-negative",
            any((group.least or 0) < 0 for group in overview.groups),
            "dur < 0",
            "events have a negative duration",
        ),
        (
            "duration-overflow",
            any((group.most or 0) > limit for group in overview.groups),
            f"dur > {limit}",
            "events have a duration that dwarfs the recording (an overflow)",
        ),
    ):
        if not wrong:
            continue
        [changed] = staging.one(f"UPDATE raw_events SET dur = NULL WHERE {condition}")
        staging.observe(
            code,
            "warning",
            changed,
            message,
            "they count as events of no duration; their time is missing from sums",
        )
