"""A trace with nothing in it but some steps, times or categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.model.intervals import Intervals
from stepscope.model.tables import TABLES
from stepscope.model.trace import Trace
from stepscope.store.activities import ACTIVITIES, LAUNCH_COLUMNS, OP_COLUMNS

#: Tables whose rows are events, belong to an event, or have a time of their own; all others stay whole.
_EVENTS: Final = ("events", "spans")
_BY_EVENT: Final = tuple(table.name for table in TABLES if "event" in table.names)
_BY_TIME: Final = ("memory", "counters")


@dataclass(frozen=True, slots=True)
class Filter:
    """What to keep; every condition must hold.

    Attributes:
        steps: Indices of steps; None for all.
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
            conditions.append(f"category IN ({listed})")
        return " AND ".join(conditions) or "true"

    @property
    def points(self) -> str:
        """The condition on a time `ts`, but for the steps."""
        conditions = [f"ts >= {self.since}"] if self.since is not None else []
        if self.until is not None:
            conditions.append(f"ts < {self.until}")
        return " AND ".join(conditions) or "true"

    @property
    def _in_steps(self) -> str:
        return f"step IN ({', '.join(map(str, self.steps or ())) or 'NULL'})"

    @property
    def rows_of_steps(self) -> str:
        """The condition on rows of `steps`."""
        conditions = [self._in_steps] if self.steps is not None else []
        if self.since is not None:
            conditions.append(f'"end" > {self.since}')
        if self.until is not None:
            conditions.append(f"ts < {self.until}")
        return " AND ".join(conditions) or "true"


def narrowed(trace: Trace, keep: Filter) -> Trace:
    """The trace of one rank, cut down; tracks, devices, groups and health stay whole."""
    if not keep:
        return trace
    event = f"SELECT id FROM whole.spans WHERE {keep.events}"
    views = {name: f"SELECT * FROM whole.{name} WHERE {keep.events}" for name in _EVENTS}
    views["steps"] = f"SELECT * FROM whole.steps WHERE {keep.rows_of_steps}"
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
    """The activities among the events; of a launch or operator that is not, only its number is left."""
    kept = [f"CASE WHEN l.id IS NOT NULL THEN k.{column.name} END AS {column.name}" for column in LAUNCH_COLUMNS]
    kept += [f"CASE WHEN o.id IS NOT NULL THEN k.{column.name} END AS {column.name}" for column in OP_COLUMNS]
    return (
        f"SELECT k.* REPLACE ({', '.join(kept)}) FROM whole.activities k LEFT JOIN ({event}) l ON l.id = k.launch "
        f"LEFT JOIN ({event}) o ON o.id = k.op WHERE k.event IN ({event})"
    )
