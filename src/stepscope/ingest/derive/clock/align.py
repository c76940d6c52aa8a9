"""Estimate the offset of the device's clock from the host's, subtract it from all device times, and report it.

Device work can't start before its launching call does, and a synchronising call can't return before the work it waits
for has ended. Each launch bounds the offset from one side, each wait from the other; launches that wait for room in a
full queue give it exactly. Without evidence times stay as recorded.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.ingest.derive.clean import move_moments
from stepscope.ingest.derive.clock.bounds import Bounds, bounds
from stepscope.ingest.derive.clock.late import ahead, delays
from stepscope.ingest.derive.clock.offset import OUTLIERS, WINDOWS, Shift, offset
from stepscope.ingest.derive.clock.room import shift_by_room
from stepscope.ingest.derive.overview import Overview
from stepscope.language import pattern, said
from stepscope.model import runtime_names
from stepscope.model.amounts import duration
from stepscope.model.sizes import SIZES
from stepscope.store.staging import Staging

#: Number of device activities examined; in longer recordings they come from evenly spaced windows.
_SAMPLE: Final = 200_000
_WORK_SQL: Final = """
SELECT ts, ts + dur AS stop, track, greatest(coalesce(correlation, 0), 0) AS correlation, {away} AS away
FROM raw_events {copies}
WHERE track IN ({devices}) AND category IN ('kernel', 'collective', 'copy', 'set') AND dur > 0
    AND ($every = 0 OR ts % $every < $long)
"""
_AWAY: Final = "coalesce(c.direction = 'DtoH' AND 'pageable' IN (c.src_kind, c.dst_kind), false)"
_CALL_CATEGORIES: Final = ("launch", "runtime", "sync")
_CALLS_SQL: Final = f"""
SELECT ts, ts + dur AS stop, track, coalesce(correlation, 0) AS correlation, name_id {{launches}}
FROM raw_events WHERE track NOT IN ({{devices}}) AND category IN {_CALL_CATEGORIES} AND dur >= 0 {{chosen}}
"""
#: What is read of many calls.
_LAUNCHES: Final = ", coalesce(correlation, 0) IN (SELECT correlation FROM clock_work) AS launches"
_CHOSEN: Final = "AND (correlation IN (SELECT correlation FROM clock_work) OR list_contains($waits, name_id))"


def align_devices(staging: Staging, overview: Overview, origin: int) -> tuple[int, Overview]:
    """Correct all device times by the estimated clock offset, and report it in health.

    Durations stay as recorded, so that sums are exact: drifts of some ppm change none by more than the clock resolves.
    The first event after the correction is at 0.

    Args:
        staging: The recording, with times from 0 on.
        overview: Counts of the recording's events.
        origin: The time on the recording's clock that is 0, in ns.

    Returns:
        The new origin in ns, and the new overview.
    """
    if not _is_observable(overview):
        return origin, overview
    found = _shift(staging, overview)
    if found is None:
        return origin, overview
    devices = ", ".join(str(track.number) for track in overview.tracks if track.number not in overview.hosts)
    mine = f"track IN ({devices}) AND category <> 'sync'"  # waits are recorded by the host's clock
    moved = f"CASE WHEN {mine} THEN ts + ({found.ns} + {found.slope!r} * ts)::BIGINT ELSE ts END"
    [first] = staging.one(f"SELECT min({moved}) FROM raw_events")
    [body] = staging.one("SELECT sql FROM duckdb_views() WHERE view_name = 'raw_events' AND NOT internal")
    inner = body.partition(" AS ")[2].rstrip(";")
    staging.connection.execute(
        f"CREATE OR REPLACE VIEW raw_events AS SELECT * REPLACE ({moved} - {first} AS ts) FROM ({inner})"
    )
    move_moments(staging, -first)
    start, last = found.at(np.array([0, found.span])).astype(np.int64).tolist()
    seen = said("device activities began before their launch, or ended after the call that waited for them")
    if found.late:
        seen = said("launches onto an idle device began much later than they could have, the quickest of them too")
    if found.room:
        seen = said("launches onto a full queue returned as nothing ended that could have made room")
    staging.observe(
        "clocks-aligned", "info", found.early + found.returned + found.late + found.room, seen,
        _moved(start, last),
    )  # fmt: skip
    return origin + first, Overview.read(staging)


#: By whether times at the start and at the end were moved to earlier ones. Health is told in other languages by whole
#: sentences.
_DRIFTS: Final = {
    (False, False): pattern(
        "the device's clock drifts: its times were moved {start} later at the start and {last} later at the end"
    ),
    (False, True): pattern(
        "the device's clock drifts: its times were moved {start} later at the start and {last} earlier at the end"
    ),
    (True, False): pattern(
        "the device's clock drifts: its times were moved {start} earlier at the start and {last} later at the end"
    ),
    (True, True): pattern(
        "the device's clock drifts: its times were moved {start} earlier at the start and {last} earlier at the end"
    ),
}


def _moved(start: int, last: int) -> str:
    """How far times were moved, and which way; both in ns, negative to earlier ones."""
    size = duration(abs(start))
    if start != last:
        return said(_DRIFTS[start < 0, last < 0], start=size, last=duration(abs(last)))
    if start < 0:
        return said("the device's clock is off the host's: its times were moved {size} earlier", size=size)
    return said("the device's clock is off the host's: its times were moved {size} later", size=size)


def _is_observable(overview: Overview) -> bool:
    on_device = any(
        group.category in ("kernel", "collective", "copy", "set") and group.track not in overview.hosts
        for group in overview.groups
    )
    return on_device and overview.on_host(*_CALL_CATEGORIES)


def _shift(staging: Staging, overview: Overview) -> Shift | None:
    """The shift from launches onto a full queue; else from bounds; else from launches onto an idle device."""
    work, calls, waits = _cases(staging, overview)
    least, most = bounds(work, calls, waits)
    found = shift_by_room(work, calls)
    if found is not None and _holds(found, least):
        return found
    found = offset(least, most)
    if found is not None and found.slope:
        return found
    # A few outlying waits would make the shift too small.
    known = 0 if found is None else found.ns
    late = delays(work, calls)
    ns = ahead(late + known)
    if not ns:
        return found
    early, returned = (0, 0) if found is None else (found.early, found.returned)
    shifted = Shift(known - ns, 0.0, early, returned, int(work["stop"].max(initial=0)), late.size)
    # Where other work would start before its launch, an idle device is slow to start, and its clock is right.
    return shifted if _holds(shifted, least) else found


def _holds(shift: Shift, least: Bounds) -> bool:
    """Whether work starts after its launch, but for outliers."""
    return int((shift.at(least.at) < least.bound).sum()) <= OUTLIERS * least.bound.size


def _cases(staging: Staging, overview: Overview) -> tuple[dict[str, Any], dict[str, Any], list[int]]:
    """Device work, launching and waiting calls, and the name ids of waits."""
    groups = [group for group in overview.groups if group.track not in overview.hosts]
    number = sum(group.number for group in groups)
    span = max(group.last for group in groups) - min(group.first for group in groups)
    every = span // WINDOWS if number > _SAMPLE else 0
    long = int(every * (_SAMPLE / number)) if every else 0
    names = staging.connection.execute("SELECT name_id, name FROM names").fetchall()
    waits = [
        name_id for name_id, name in names
        if runtime_names.is_synchronisation(name) and runtime_names.wait_scope(name) != "event"
    ]  # fmt: skip
    devices = ", ".join(str(track.number) for track in overview.tracks if track.number not in overview.hosts) or "-1"
    copies, away = ("", "false") if not staging.may_have("copies") else ("LEFT JOIN copies c ON c.event = id", _AWAY)
    query = _WORK_SQL.format(away=away, copies=copies, devices=devices)
    work = staging.connection.execute(query, {"every": every, "long": long}).fetchnumpy()
    return work, _calls(staging, overview, devices, work["correlation"], waits), waits


def _calls(
    staging: Staging, overview: Overview, devices: str, correlation: NDArray[np.int64], waits: list[int]
) -> dict[str, Any]:
    """Calls on the host that launch work with these correlation ids, or wait."""
    connection = staging.connection
    number = sum(group.number for group in overview.groups if group.category in _CALL_CATEGORIES)
    if number <= SIZES.joined_activities:
        calls = connection.execute(_CALLS_SQL.format(devices=devices, launches="", chosen="")).fetchnumpy()
        launches = np.isin(calls["correlation"], correlation[correlation > 0])
        chosen = launches | np.isin(calls["name_id"], waits)
        return {name: values[chosen] for name, values in (calls | {"launches": launches}).items()}
    connection.register("clock_work", pa.table({"correlation": correlation[correlation > 0]}))
    query = _CALLS_SQL.format(devices=devices, launches=_LAUNCHES, chosen=_CHOSEN)
    calls = connection.execute(query, {"waits": waits}).fetchnumpy()
    connection.unregister("clock_work")
    return calls
