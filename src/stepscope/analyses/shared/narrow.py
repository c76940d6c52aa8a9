"""A trace narrowed to some steps, times or categories, or to its typical steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Spans
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.model.tables import TABLES
from stepscope.model.trace import Trace
from stepscope.store.activities import ACTIVITIES, LAUNCH_COLUMNS, OP_COLUMNS

#: Tables whose rows are events, belong to an event, or have a time of their own; all others stay whole.
_EVENTS: Final = ("events", "spans")
_BY_EVENT: Final = tuple(table.name for table in TABLES if "event" in table.names)
_BY_TIME: Final = ("memory", "counters", "samples")
#: So few events outside all steps, as a share of all, change no number that is said of the steps: threads, marks and
#: the profiler's own calls leave some in every recording.
_FEW_OUTSIDE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Filter:
    """What to keep; every condition must hold.

    Attributes:
        steps: Steps, as in table `steps`; None for all.
        since: Events that end after this time, in ns since the trace's origin; None for all.
        until: Events that begin before this time; None for all.
        categories: Categories of events; empty for all.
    """

    steps: tuple[int, ...] | None = None
    since: int | None = None
    until: int | None = None
    categories: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Filter()

    @property
    def events(self) -> str:
        """The condition on rows of `events`, in SQL."""
        conditions = [self._in_steps] if self.steps is not None else []
        if self.since is not None:
            conditions.append(f"(ts >= {self.since} OR ts + coalesce(dur, 0) > {self.since})")
        if self.until is not None:
            conditions.append(f"ts < {self.until}")
        if self.categories:
            listed = ", ".join("'" + category.replace("'", "''") + "'" for category in self.categories)
            conditions.append(f"list_contains([{listed}], category::VARCHAR)")
        return " AND ".join(conditions) or "true"

    @property
    def points(self) -> str:
        """The SQL condition on a time `ts`, without the steps."""
        conditions = [f"ts >= {self.since}"] if self.since is not None else []
        if self.until is not None:
            conditions.append(f"ts < {self.until}")
        return " AND ".join(conditions) or "true"

    @property
    def _in_steps(self) -> str:
        return one_of("step", self.steps or ())

    @property
    def rows_of_steps(self) -> str:
        """The condition on rows of `steps`."""
        conditions = [self._in_steps] if self.steps is not None else []
        if self.since is not None:
            conditions.append(f'"end" > {self.since}')
        if self.until is not None:
            conditions.append(f"ts < {self.until}")
        return " AND ".join(conditions) or "true"


def one_of(column: str, numbers: Iterable[int]) -> str:
    """The condition that a column has one of these numbers, as ranges.

    DuckDB turns a list of five or more into a join, which may return rows in another order each time; columns of
    `spans` are read one by one and need the stored order.
    """
    chosen = np.unique(np.fromiter(numbers, np.int64))
    runs = np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1) if chosen.size else []
    return "(" + (" OR ".join(f"{column} BETWEEN {run[0]} AND {run[-1]}" for run in runs) or "false") + ")"


def narrowed(trace: Trace, keep: Filter) -> Trace:
    """The trace of one rank narrowed by a filter; tracks, devices, groups and health stay whole."""
    if not keep:
        return trace
    event = f"SELECT id FROM whole.spans WHERE {keep.events}"
    views = {name: f"SELECT * FROM whole.{name} WHERE {keep.events}" for name in _EVENTS}
    # Steps that somebody chose are the ones to look at.
    typical = "" if keep.steps is None else "REPLACE (true AS typical)"
    views["steps"] = f"SELECT * {typical} FROM whole.steps WHERE {keep.rows_of_steps}"
    for name in _BY_EVENT:
        views[name] = f"SELECT * FROM whole.{name} WHERE event IN ({event})"
    views[ACTIVITIES.name] = _activities_sql(event)
    for name in _BY_TIME:
        # A condition, not a join: rows keep their order, which tells what came first at one moment.
        within = keep.points if keep.steps is None else f"{keep.points} AND ({_of_steps(trace, keep)})"
        views[name] = f"SELECT * FROM whole.{name} WHERE {within}"
    views["flows"] = f"SELECT * FROM whole.flows WHERE source IN ({event}) AND target IN ({event})"
    return trace.narrowed(views)


def _of_steps(trace: Trace, keep: Filter) -> str:
    """The condition that a time `ts` lies in one of the steps."""
    steps = trace.columns(f"SELECT ts, ts + dur AS stop FROM steps WHERE {keep.rows_of_steps}")
    spans = Intervals.union_of(steps["ts"], steps["stop"])
    pairs = zip(spans.starts.tolist(), spans.ends.tolist(), strict=True)
    return " OR ".join(f"ts >= {start} AND ts < {end}" for start, end in pairs) or "false"


def _activities_sql(event: str) -> str:
    """The activities among the kept events; launches and operators outside them keep their id only."""
    kept = [f"CASE WHEN l.id IS NOT NULL THEN k.{column.name} END AS {column.name}" for column in LAUNCH_COLUMNS]
    kept += [f"CASE WHEN o.id IS NOT NULL THEN k.{column.name} END AS {column.name}" for column in OP_COLUMNS]
    return (
        f"SELECT k.* REPLACE ({', '.join(kept)}) FROM whole.activities k LEFT JOIN ({event}) l ON l.id = k.launch "
        f"LEFT JOIN ({event}) o ON o.id = k.op WHERE k.event IN ({event})"
    )


def typical_part(trace: Trace) -> Trace:
    """The trace of one rank narrowed to its typical steps, which everything said per step is about.

    Calls that enclose a typical step are kept, since they tell where its events come from. Step windows are those of
    the whole trace. A trace without anything outside its typical steps is returned as it is.
    """
    steps = Steps.of(trace)
    if not _is_cut(trace, steps):
        return trace
    kept = steps.step[steps.typical].tolist()
    others = _beside(trace, steps)
    listed, launched = one_of("step", kept), one_of("launch_step", kept)
    work = f"({listed} OR {one_of('event', others)})" if others.size else listed
    # Where a run of typical steps begins, on the host.
    first = steps.typical & ~np.append(False, steps.typical[:-1])
    around = " OR ".join(f"(ts < {start} AND ts + dur > {start})" for start in steps.ts[first].tolist())
    host = one_of("track", trace.columns("SELECT track FROM tracks WHERE kind = 'host'")["track"].tolist())
    beside = f" OR {one_of('id', others)}" if others.size else ""
    within = f"({listed} OR (({around}) AND {host}){beside})"
    event = f"SELECT id FROM whole.spans WHERE {within}"
    views = {name: f"SELECT * FROM whole.{name} WHERE {within}" for name in _EVENTS}
    views["steps"] = "SELECT * FROM whole.steps WHERE typical"
    for name in _BY_EVENT:
        views[name] = f"SELECT * FROM whole.{name} WHERE event IN ({event})"
    views["kernels"] = f"SELECT * FROM whole.kernels WHERE {work}"
    launch = [f"CASE WHEN {launched} THEN {column.name} END AS {column.name}" for column in LAUNCH_COLUMNS]
    views[ACTIVITIES.name] = f"SELECT * REPLACE ({', '.join(launch)}) FROM whole.activities WHERE {work}"
    times = _of_steps(trace, Filter(tuple(kept)))
    for name in _BY_TIME:
        views[name] = f"SELECT * FROM whole.{name} WHERE {times}"
    views["flows"] = f"SELECT * FROM whole.flows WHERE source IN ({event}) AND target IN ({event})"
    return trace.narrowed(views)


def _beside(trace: Trace, steps: Steps) -> NDArray[np.int64]:
    """Ids of device work that belongs to no step and runs while a typical one lasts: devices are not idle then."""
    work = DeviceWork.of(trace)
    free = np.flatnonzero((work.step < 0) & ~work.are("sync"))
    mine = Intervals.union_of(steps.start[steps.typical], steps.end[steps.typical])
    inside = mine.within(work.ts[free], work.ts[free] + work.dur[free]) > 0
    return work.event[free[inside]]


def _is_cut(trace: Trace, steps: Steps) -> bool:
    """Whether a noticeable part of the trace lies outside the typical steps."""
    if not steps.typical.any():
        return False
    if not steps.typical.all():
        return True
    outside = np.count_nonzero(Spans(trace).step < 0)
    return bool(outside > _FEW_OUTSIDE * Spans(trace).step.size) or bool((DeviceWork.of(trace).step < 0).any())
