"""Estimate the offset of the device's clock from the host's, subtract it from all device times, and report it.

Device work can't start before its launching call does, and a synchronising call can't return before the work it waits
for has ended. Each launch bounds the offset from one side, each wait from the other. Without enough violations of these
bounds times stay as recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.ingest.derive.clean import move_moments
from stepscope.ingest.derive.clock_late import ahead, delays
from stepscope.ingest.derive.overview import Overview
from stepscope.model import runtime_names
from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

#: Number of device activities examined; in longer recordings they come from evenly spaced windows.
_SAMPLE: Final = 200_000
_WINDOWS: Final = 16
#: Shortest time from a launch call's start to the kernel's start, and from the end of work to the return of the wait:
#: the least seen in 40 recordings with synchronous clocks.
_LAUNCH_NS: Final = 4_000
_RETURN_NS: Final = 1_000
#: Least number of violations, of launches and of waits, and their least share of all bounds, to shift the clock.
_LAUNCHES, _OFTEN = 8, 3
_SHARE: Final = 0.01
_WAITS_SHARE: Final = 0.5
#: Clocks that differ by more have another epoch, which is not corrected here.
_FARTHEST_NS: Final = 2_000_000
#: Least drift over the recording, in ns and in multiples of the windows' deviation from the fitted line.
_DRIFT_NS: Final = 20_000
_CLEAR: Final = 4
#: Quantile of the bounds that a fit uses instead of the extreme, so that outliers do not decide.
_ODD: Final = 0.02

_NOTHING: Final = np.iinfo(np.int64).min

_DEVICE: Final = "track IN (SELECT track FROM tracks WHERE kind <> 'host')"
_WORK_SQL: Final = f"""
SELECT e.ts, e.ts + e.dur AS stop, e.track, greatest(coalesce(e.correlation, 0), 0) AS correlation,
    coalesce(c.direction = 'DtoH' AND 'pageable' IN (c.src_kind, c.dst_kind), false) AS away
FROM raw_events e LEFT JOIN copies c ON c.event = e.id
WHERE e.{_DEVICE} AND e.category IN ('kernel', 'collective', 'copy', 'set') AND e.dur > 0
    AND ($every = 0 OR e.ts % $every < $long)
"""
_CALLS_SQL: Final = f"""
SELECT ts, ts + dur AS stop, track, coalesce(correlation, 0) AS correlation, name_id,
    coalesce(correlation, 0) IN (SELECT correlation FROM clock_work) AS launches
FROM raw_events
WHERE NOT {_DEVICE} AND category IN ('launch', 'runtime', 'sync') AND dur >= 0
    AND (correlation IN (SELECT correlation FROM clock_work) OR list_contains($waits, name_id))
"""


@dataclass(frozen=True, slots=True)
class Shift:
    """A linear correction added to device times: `ns` + `slope` x time.

    Attributes:
        ns: Offset at time 0 in ns.
        slope: Drift in ns per ns.
        early: Number of activities that started before their launch.
        returned: Number of calls that returned before the work they waited for had ended.
        span: Time of the last activity in ns.
        late: Number of launches onto an idle device that the offset rests on, where nothing else shows it.
    """

    ns: int
    slope: float
    early: int
    returned: int
    span: int
    late: int = 0

    def at(self, times: NDArray[Any]) -> NDArray[np.float64]:
        """The correction at these times, in ns."""
        added: NDArray[np.float64] = self.ns + self.slope * times
        return added


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
    amount = f"{start} ns" if start == last else f"{start} ns at the start and {last} ns at the end"
    seen = "device activities began before their launch, or ended after the call that waited for them"
    if found.late:
        seen = "launches onto an idle device began much later than they could have, the quickest of them too"
    staging.observe(
        "clocks-aligned", "info", found.early + found.returned + found.late, seen,
        f"the device's clock is off the host's: its times were shifted by {amount}",
    )  # fmt: skip
    return origin + first, Overview.read(staging)


def _is_observable(overview: Overview) -> bool:
    on_device = any(
        group.category in ("kernel", "collective", "copy", "set") and group.track not in overview.hosts
        for group in overview.groups
    )
    return on_device and overview.on_host("launch", "runtime", "sync")


@dataclass(frozen=True, slots=True)
class Bounds:
    """n lower or upper bounds of the shift.

    Attributes:
        at: int64[n], time of each in ns.
        bound: int64[n], the bound in ns.
    """

    at: Times
    bound: Times


def offset(least: Bounds, most: Bounds) -> Shift | None:
    """The shift that satisfies the bounds; None if none is needed, or none satisfies them."""
    early, returned = int((least.bound > 0).sum()), int((most.bound < 0).sum())
    systematic = early >= max(_LAUNCHES, _SHARE * least.bound.size)
    systematic |= returned >= max(_OFTEN, _WAITS_SHARE * most.bound.size)
    if not systematic:
        return None
    span = int(max(least.at.max(initial=0), most.at.max(initial=0)))
    for shift in (_constant(least, most), _drifting(least, most)):
        if shift is None:
            continue
        found = Shift(round(shift[0]), shift[1], early, returned, span)
        wrong = int((found.at(least.at) < least.bound).sum() + (found.at(most.at) > most.bound).sum())
        if wrong <= _ODD * (least.bound.size + most.bound.size):
            return found
    return None


def _constant(least: Bounds, most: Bounds) -> tuple[float, float] | None:
    """A constant shift between the lower bounds of launches and the upper bounds of waits."""
    low = float(np.quantile(least.bound, 1 - _ODD / 4)) if least.bound.size else -np.inf
    high = float(np.quantile(most.bound, _ODD)) if most.bound.size else np.inf
    if low > high:
        return None
    middle = (low + high) / 2 if np.isfinite(low) and np.isfinite(high) else None
    if low > 0:
        shift = low + _LAUNCH_NS if middle is None else min(low + _LAUNCH_NS, middle)
    else:
        shift = high - _RETURN_NS if middle is None else max(high - _RETURN_NS, middle)
        # Where bounds conflict, launches count before waits.
        first = float(least.bound.max(initial=_NOTHING))
        shift = max(shift, first) if first <= high + _RETURN_NS else shift
    return shift, 0.0


def _drifting(least: Bounds, most: Bounds) -> tuple[float, float] | None:
    """A linear shift: the line fitted through the middle between the bounds of each window."""
    if not (least.bound.size and most.bound.size):
        return None
    edges = np.linspace(0, int(max(least.at.max(), most.at.max())) + 1, _WINDOWS + 1)
    middles, shifts = [], []
    for lo, hi in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        low, high = (side.bound[(side.at >= lo) & (side.at < hi)] for side in (least, most))
        if low.size and high.size:
            middles.append((lo + hi) / 2)
            shifts.append((float(low.max()) + float(high.min())) / 2)
    if len(middles) < _OFTEN:
        return None
    slope, ns = np.polyfit(middles, shifts, 1)
    rest = float(np.std(np.array(shifts) - ns - slope * np.array(middles)))
    if abs(slope) * (middles[-1] - middles[0]) < max(_DRIFT_NS, _CLEAR * rest):
        return None
    return float(ns), float(slope)


def _shift(staging: Staging, overview: Overview) -> Shift | None:
    """The shift from launches and waits; else from launches onto an idle device."""
    work, calls, waits = _cases(staging, overview)
    least, most = bounds(work, calls, waits)
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
    wrong = int((shifted.at(least.at) < least.bound).sum())
    return found if wrong > _ODD * least.bound.size else shifted


def _cases(staging: Staging, overview: Overview) -> tuple[dict[str, Any], dict[str, Any], list[int]]:
    """Device work, launching and waiting calls, and the name ids of waits."""
    groups = [group for group in overview.groups if group.track not in overview.hosts]
    number = sum(group.number for group in groups)
    span = max(group.last for group in groups) - min(group.first for group in groups)
    every = span // _WINDOWS if number > _SAMPLE else 0
    long = int(every * (_SAMPLE / number)) if every else 0
    names = staging.connection.execute("SELECT name_id, name FROM names").fetchall()
    waits = [
        name_id for name_id, name in names
        if runtime_names.is_synchronisation(name) and runtime_names.wait_scope(name) != "event"
    ]  # fmt: skip
    with staging.connection.cursor() as connection:
        work = connection.execute(_WORK_SQL, {"every": every, "long": long}).fetchnumpy()
        known = work["correlation"]
        connection.register("clock_work", pa.table({"correlation": known[known > 0]}))
        calls = connection.execute(_CALLS_SQL, {"waits": waits}).fetchnumpy()
        connection.unregister("clock_work")
    return work, calls, waits


def bounds(work: dict[str, Any], calls: dict[str, Any], waits: list[int]) -> tuple[Bounds, Bounds]:
    """Lower bounds of the shift from launches, and upper bounds from waits."""
    launching = np.flatnonzero(calls["launches"])
    launching = launching[np.lexsort((calls["ts"][launching], calls["correlation"][launching]))]
    key = calls["correlation"][launching]
    at = np.minimum(np.searchsorted(key, work["correlation"]), max(key.size - 1, 0))
    mine = np.flatnonzero(key[at] == work["correlation"]) if key.size else np.zeros(0, np.int64)
    call = launching[at[mine]] if key.size else mine
    ts, stop, called = work["ts"][mine], work["stop"][mine], calls["ts"][call]
    # Work queued behind other work starts later than it could have: a weak bound, but a valid one.
    away = work["away"][mine]
    copied = Bounds(stop[away], (calls["stop"][call] - stop)[away])
    waited = _waited(calls, waits, stop, called, calls["track"][call])
    most = Bounds(np.concatenate((copied.at, waited.at)), np.concatenate((copied.bound, waited.bound)))
    return _close(Bounds(ts, called - ts)), _close(most)


def _waited(calls: dict[str, Any], waits: list[int], stop: Times, called: Times, thread: NDArray[Any]) -> Bounds:
    """Upper bounds from the return of waits, given what each thread had launched and when that ended."""
    found_at, found = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    waiting = np.flatnonzero(np.isin(calls["name_id"], waits) & ~calls["launches"].astype(bool))
    for track in np.unique(calls["track"][waiting]).tolist():
        its, own = waiting[calls["track"][waiting] == track], np.flatnonzero(thread == track)
        if not own.size:
            continue
        own = own[np.argsort(called[own], kind="stable")]
        # When the call returns, all work launched by the thread has ended: it waited for the last of it.
        last = np.maximum.accumulate(stop[own])
        place = np.searchsorted(called[own], calls["ts"][its], side="left") - 1
        its, place = its[place >= 0], place[place >= 0]
        end, begun, returned = last[place], calls["ts"][its], calls["stop"][its]
        took = returned - begun
        # It did wait if that ended well within the call; if it seems to end much later, it waited for something else.
        real = (end - begun > took // 2) & (end - returned < np.maximum(took // 4, 4 * _LAUNCH_NS))
        found_at.append(end[real])
        found.append((returned - end)[real])
    return Bounds(np.concatenate(found_at).astype(np.int64), np.concatenate(found).astype(np.int64))


def _close(found: Bounds) -> Bounds:
    near = np.abs(found.bound) <= _FARTHEST_NS  # farther apart: queued work, or an unrelated clock
    return Bounds(found.at[near], found.bound[near])
