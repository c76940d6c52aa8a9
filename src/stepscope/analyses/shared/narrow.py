"""A trace narrowed to some steps, times or categories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.model.intervals import Intervals
from stepscope.model.tables import TABLES
from stepscope.model.trace import Trace
from stepscope.store.activities import ACTIVITIES, LAUNCH_COLUMNS, OP_COLUMNS

#: Tables whose rows are events, belong to an event, or have a time of their own; all others stay whole.
EVENT_VIEWS: Final = ("events", "spans")
BY_EVENT: Final = tuple(table.name for table in TABLES if "event" in table.names)
BY_TIME: Final = ("memory", "counters", "samples")


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
    views = {name: f"SELECT * FROM whole.{name} WHERE {keep.events}" for name in EVENT_VIEWS}
    # Steps that somebody chose are the ones to look at.
    typical = "" if keep.steps is None else "REPLACE (true AS typical)"
    views["steps"] = f"SELECT * {typical} FROM whole.steps WHERE {keep.rows_of_steps}"
    for name in BY_EVENT:
        views[name] = f"SELECT * FROM whole.{name} WHERE event IN ({event})"
    views[ACTIVITIES.name] = _activities_sql(event)
    for name in BY_TIME:
        # A condition, not a join: rows keep their order, which tells what came first at one moment.
        within = keep.points if keep.steps is None else f"{keep.points} AND ({times_of_steps(trace, keep)})"
        views[name] = f"SELECT * FROM whole.{name} WHERE {within}"
    views["flows"] = f"SELECT * FROM whole.flows WHERE source IN ({event}) AND target IN ({event})"
    return trace.narrowed(views)


def times_of_steps(trace: Trace, keep: Filter) -> str:
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
