"""The nesting of chosen host events, and sums over their subtrees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.model.categories import CATEGORIES
from stepscope.model.coding import code
from stepscope.model.events.columns import Ids, Spans, on_host
from stepscope.model.events.lookup import match
from stepscope.model.events.nesting import nest_lanes
from stepscope.model.events.stretches import quiet, stretches
from stepscope.model.events.tree import levels, nearest
from stepscope.model.intervals import Times
from stepscope.model.sizes import SIZES
from stepscope.model.trace import Trace

_EVENTS_SQL = """
SELECT id, track, ts, coalesce(dur, 0) AS dur, name_id AS name, {code} AS category
FROM spans WHERE track IN (SELECT track FROM tracks WHERE kind = 'host') AND {chosen} AND {where}
"""
_COUNTS_SQL = """
SELECT track, count(*) AS number FROM spans JOIN tracks USING (track)
WHERE kind = 'host' AND {chosen} GROUP BY 1 ORDER BY 1
"""
_TIMES_SQL = """
SELECT ts, ts + coalesce(dur, 0) AS stop FROM spans WHERE track = $track AND {chosen}
"""


@dataclass(frozen=True)
class HostTree:
    """Host events of some categories, by thread and start, outer ones first. Positions count them from 0.

    Attributes:
        id: int64[n], their events.
        track: int32[n], their threads.
        name: int32[n], `name_id`.
        category: int8[n], index into the categories asked for; -1 for what is only there for its position.
        ts: int64[n].
        dur: int64[n] as recorded, 0 where it is missing.
        kept: int64[n], duration within the enclosing event; siblings do not overlap.
        depth: int32[n].
        parent: int64[n], position of the innermost enclosing event of the tree, -1 if there is none.
    """

    id: NDArray[np.int64]
    track: NDArray[np.int32]
    name: NDArray[np.int32]
    category: NDArray[np.int8]
    ts: Times
    dur: Times
    kept: Times
    depth: NDArray[np.int32]
    parent: NDArray[np.int64]

    def nearest(self, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Position of the nearest wanted event among each event and its ancestors, int64[n], -1 if there is none."""
        at = np.flatnonzero(wanted)
        if at.size > wanted.size // 2:
            return nearest(wanted, self.depth, self.parent)
        found = np.full(wanted.size, -1)
        found[at] = at
        for here in self._levels[1:]:
            asking = here[found[here] < 0]
            found[asking] = found[self.parent[asking]]
        return found

    def inside(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether a wanted event encloses each event, bool[n]."""
        return self.above(self.nearest(wanted)) >= 0

    def above(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """The result of `nearest` at the parent of each event, int64[n], -1 for events without parent."""
        return np.where(self.parent < 0, -1, found[self.parent])

    def roll_up(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum of the values of each event and all events inside it, int64[n]."""
        return self.over_subtrees(values, np.add)

    def over_subtrees(self, values: NDArray[np.int64], combine: np.ufunc) -> NDArray[np.int64]:
        """The values of each event and all events inside it, combined in any order, int64[n]."""
        total: NDArray[np.int64] = values.copy()
        for here in reversed(self._levels[1:]):
            combine.at(total, self.parent[here], total[here])
        return total

    def outermost(self, among: NDArray[np.bool_], outer: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Which of the events `among` lie in no other of them with the same name, bool[n].

        Args:
            among: bool[n].
            outer: The nearest of them around each event, -1 if none is, where that is known.
        """
        first: NDArray[np.bool_] = among.copy()
        outer = self.above(self.nearest(among)) if outer is None else outer
        going = self._below_a_namesake(np.flatnonzero(among))
        going = going[outer[going] >= 0]
        around = outer[going]
        while going.size:
            again = self.name[around] == self.name[going]
            first[going[again]] = False
            around = outer[around]
            left = ~again & (around >= 0)
            going, around = going[left], around[left]
        return first

    def positions(self, events: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of events, int64[m], -1 for those that the tree lacks."""
        return match(self.id, events)

    def _below_a_namesake(self, among: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the positions whose events are deeper than another event of the same name and may lie in it."""
        name, depth = self.name[among], self.depth[among]
        least = np.full(int(name.max(initial=-1)) + 1, np.iinfo(np.int32).max, np.int32)
        np.minimum.at(least, name, depth)
        return among[depth > least[name]]

    @cached_property
    def _levels(self) -> list[NDArray[np.int64]]:
        """Positions at each depth."""
        return levels(self.depth)


def host_tree(
    trace: Trace, categories: Sequence[str], also: str | Ids = "", parameters: dict[str, Any] | None = None
) -> HostTree:
    """Nest the host events of these categories.

    Args:
        trace: The trace of one rank.
        categories: Categories of events.
        also: Ids of further events, or a query for them, to find what is around them.
        parameters: Parameters of that query.
    """
    if trace.once(recorded_events).total > SIZES.whole_columns:
        with _query(trace, also) as query:
            return _nested(trace.columns(_events_sql(categories, query), parameters))
    return _nested(_selected(trace, categories, also, parameters))


def host_trees(
    trace: Trace,
    categories: Sequence[str],
    also: str | Ids = "",
    parameters: dict[str, Any] | None = None,
) -> Iterator[HostTree]:
    """The tree of `host_tree` as several trees, by thread and time, of about `SIZES.nested_events` events each.

    No event of one tree lies in an event of another.
    """
    if trace.once(recorded_events).total <= SIZES.whole_columns:
        yield host_tree(trace, categories, also, parameters)
        return
    with _query(trace, also) as query:
        chosen = _chosen(categories, query)
        counts = trace.rows(_COUNTS_SQL.format(chosen=chosen), parameters)
        if not counts:
            yield host_tree(trace, categories, query, parameters)
            return

        def times(track: int) -> tuple[Times, Times]:
            rows = trace.columns(_TIMES_SQL.format(chosen=chosen), {"track": track, **(parameters or {})})
            return rows["ts"], rows["stop"]

        for stretch in stretches([(row["track"], row["number"]) for row in counts], times):
            yield _nested(trace.columns(_events_sql(categories, query, stretch.condition), parameters))


def _selected(
    trace: Trace, categories: Sequence[str], also: str | Ids, parameters: dict[str, Any] | None
) -> dict[str, NDArray[Any]]:
    """The rows of `_events_sql` from columns in memory, block by block, to bound the memory used."""
    spans = Spans(trace)
    position = np.full(len(CATEGORIES) + 1, -1, np.int8)  # the last one for what is of no category
    position[[CATEGORIES.index(category) for category in categories]] = np.arange(len(categories))
    category = position[spans.category]
    chosen = category >= 0
    if isinstance(also, str):
        query = f"SELECT id::BIGINT AS id FROM ({also}) AS others(id) WHERE id IS NOT NULL"
        also = trace.columns(query, parameters)["id"] if also else np.zeros(0, np.int64)
    others = spans.rows(also)
    chosen[others[others >= 0]] = True
    at = np.flatnonzero(chosen)
    at = at[on_host(trace, spans.track[at])]
    rows: dict[str, NDArray[Any]] = {"id": spans.id[at].astype(np.int64), "dur": np.maximum(spans.dur[at], 0)}
    return rows | {"track": spans.track[at], "ts": spans.ts[at], "name": spans.name[at], "category": category[at]}


@contextmanager
def _query(trace: Trace, also: str | Ids) -> Iterator[str]:
    """A query for ids that is valid within the context; trees built at the same time have one each."""
    if isinstance(also, str):
        yield also
        return
    with trace.temporary(pa.table({"id": also})) as name:
        yield f"SELECT id FROM {name}"


def _events_sql(categories: Sequence[str], also: str = "", where: str = "true") -> str:
    """The query for host events. Categories are part of its text: DuckDB would join a parameter row by row."""
    position = code("category", categories) if categories else "(-1)::TINYINT"
    return _EVENTS_SQL.format(code=position, chosen=_chosen(categories, also), where=where)


def _chosen(categories: Sequence[str], also: str) -> str:
    tests = [f"category IN ({', '.join(map(repr, categories))})"] if categories else []
    tests += [f"id IN ({also})"] if also else []
    return f"({' OR '.join(tests) or 'false'})"


def _nested(rows: dict[str, NDArray[Any]]) -> HostTree:
    _order(rows)
    ts, dur, track = rows["ts"], rows["dur"], rows["track"]
    depth, parent, kept = np.zeros(ts.size, np.int32), np.full(ts.size, -1), dur.copy()
    for low, high in pairwise(_edges(track, ts, dur)):
        nesting = nest_lanes(track[low:high], ts[low:high], ts[low:high] + dur[low:high])
        depth[low:high] = nesting.depth
        parent[low:high] = np.where(nesting.parent < 0, -1, nesting.parent + low)
        kept[low:high] = nesting.end - ts[low:high]
    return HostTree(rows["id"], track, rows["name"], rows["category"], ts, dur, kept, depth, parent)


def _order(rows: dict[str, NDArray[Any]]) -> None:
    """Sort events in place by thread, start, longest first, id. They are stored nearly in that order."""
    track, ts = rows["track"], rows["ts"]
    same = track[1:] == track[:-1]
    if not ((track[1:] > track[:-1]) | (same & (ts[1:] >= ts[:-1]))).all():
        order = np.lexsort((ts, track))
        for name in rows:
            rows[name] = rows[name][order]
        track, ts = rows["track"], rows["ts"]
        same = track[1:] == track[:-1]
    again = same & (ts[1:] == ts[:-1])
    tied = np.flatnonzero(np.append(again, False) | np.append(False, again)) if again.any() else np.flatnonzero(again)
    order = tied[np.lexsort((rows["id"][tied], -rows["dur"][tied], ts[tied], track[tied]))]
    moved = order != tied
    for values in rows.values():
        values[tied[moved]] = values[order[moved]]


def _edges(track: NDArray[np.int32], ts: Times, dur: Times) -> list[int]:
    """Positions between which events nest: starts of threads, and moments on long ones at which no event is open."""
    threads = [0, *(np.flatnonzero(track[1:] != track[:-1]) + 1).tolist(), ts.size]
    edges = [0]
    for low, high in pairwise(threads):
        if high - low > SIZES.whole_columns:
            ends = ts[low:high] + dur[low:high]
            ends.sort()
            edges += [low, *(low + position for position in quiet(ts[low:high], ends)), high]
        elif high - edges[-1] > SIZES.whole_columns:
            # As many threads together as one may be long.
            edges.append(low)
    return [*edges, ts.size]
