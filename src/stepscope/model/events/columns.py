"""Events of one rank as NumPy columns, each read on first use.

Events refer to each other by position in these columns, which is far cheaper than a join by id. `Trace.once` keeps
the columns and `Trace.forget` frees them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.categories import CATEGORIES
from stepscope.model.coding import among, code
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

Ids = NDArray[np.int64]
#: Positions of events in `Spans`; -1 for none.
Rows = NDArray[np.int32]

_SPANS: Final = {
    "id": "id::INTEGER",
    "ts": "ts",
    "dur": "coalesce(dur, -1)",
    "track": "track",
    "name": "name_id",
    "category": code("category", CATEGORIES),
    "step": "coalesce(step, -1)",
    "parent": "coalesce(parent, -1)::INTEGER",
}


@dataclass(frozen=True, slots=True)
class _Column:
    """Reader of one column of `spans`; `Trace.once` keys its result by equality."""

    name: str

    def __call__(self, trace: Trace) -> NDArray[Any]:
        whole = trace.whole
        if whole is trace:
            return trace.columns(f"SELECT {_SPANS[self.name]} AS one FROM spans", many=True)["one"]
        found: NDArray[Any] = whole.once(self)[trace.once(_kept)]
        return found


def _kept(trace: Trace) -> Rows:
    """Where the events of a narrowed trace stand in the whole one, int32[n] ascending."""
    return np.sort(Spans(trace.whole).rows(trace.columns("SELECT id::INTEGER AS id FROM spans", many=True)["id"]))


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The n events of one rank, in storage order. A position is an index into these columns."""

    trace: Trace

    @property
    def id(self) -> NDArray[np.int32]:
        """int32[n]."""
        return self.trace.once(_Column("id"))

    @property
    def ts(self) -> Times:
        """int64[n], start times in ns."""
        return self.trace.once(_Column("ts"))

    @property
    def dur(self) -> Times:
        """int64[n], durations in ns; -1 if not recorded."""
        return self.trace.once(_Column("dur"))

    @property
    def track(self) -> NDArray[np.int32]:
        """int32[n]."""
        return self.trace.once(_Column("track"))

    @property
    def name(self) -> NDArray[np.int32]:
        """int32[n], `name_id`."""
        return self.trace.once(_Column("name"))

    @property
    def category(self) -> NDArray[np.int8]:
        """int8[n], position in `CATEGORIES`."""
        return self.trace.once(_Column("category"))

    @property
    def step(self) -> NDArray[np.int32]:
        """int32[n]; -1 outside every step."""
        return self.trace.once(_Column("step"))

    @property
    def parent(self) -> NDArray[np.int32]:
        """int32[n], id of the event around each one; -1 for none."""
        return self.trace.once(_Column("parent"))

    @property
    def by_id(self) -> Rows:
        """int32[n], positions by id."""
        row_of = self.trace.once(_rows)
        found: Rows = row_of[row_of >= 0]
        return found

    @property
    def around(self) -> Rows:
        """int32[n], position of each event's parent; -1 for none."""
        return self.trace.once(_around)

    def of(self, *categories: str) -> NDArray[np.bool_]:
        """Whether each event is of one of these categories, bool[n]."""
        return among(self.category, CATEGORIES, categories)

    def rows(self, ids: NDArray[Any]) -> Rows:
        """Positions of events by id, int32[m]; -1 for id -1 and for events not in the trace."""
        row_of = self.trace.once(_rows)
        # The last place stands for -1.
        found: Rows = row_of[np.minimum(ids, row_of.size - 1)]
        return found


def _rows(trace: Trace) -> Rows:
    """Position of each event by its id, int32[largest id + 2]; events are numbered from 0."""
    ids = Spans(trace).id
    found = np.full(int(ids.max(initial=-1)) + 2, -1, np.int32)
    found[ids] = np.arange(ids.size, dtype=np.int32)
    return found


def _around(trace: Trace) -> Rows:
    return Spans(trace).rows(Spans(trace).parent)


def names_by_id(trace: Trace) -> dict[int, str]:
    """All event names by `name_id`; call through `Trace.once`."""
    rows = trace.columns("SELECT name_id, name FROM names")
    return dict(zip(rows["name_id"].tolist(), rows["name"].tolist(), strict=True))


def named(trace: Trace, test: Callable[[str], object]) -> NDArray[np.bool_]:
    """Whether `test` accepts the name of each event, bool[n] in the order of `Spans`; tests each distinct name once."""
    names = trace.once(names_by_id)
    chosen = np.zeros(max(names, default=-1) + 1, np.bool_)
    chosen[[name_id for name_id, name in names.items() if test(name)]] = True
    return chosen.take(Spans(trace).name)


def on_host(trace: Trace, tracks: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether tracks are host threads."""
    return trace.once(_host_tracks).take(tracks)


def _host_tracks(trace: Trace) -> NDArray[np.bool_]:
    """Whether each track is a host thread, bool[tracks + 1]; the last place stands for -1."""
    rows = trace.columns("SELECT track, kind = 'host' AS host FROM tracks")
    host = np.zeros(max(int(rows["track"].max(initial=-1)), int(Spans(trace).track.max(initial=-1))) + 2, np.bool_)
    host[rows["track"]] = rows["host"]
    return host
