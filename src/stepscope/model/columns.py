"""Events and device activities of one rank as columns in memory, each read when it is first asked for.

A query that joins events by id costs tens of milliseconds where looking them up by position costs one. Columns are
kept with `Trace.once`, so that `Trace.forget` lets go of each of a large rank's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.categories import CATEGORIES, KERNEL_KINDS
from stepscope.model.intervals import Times
from stepscope.model.kernel_names import OP_CLASSES, OpClass
from stepscope.model.trace import Trace

Ids = NDArray[np.int64]
#: Positions of events in `Spans`; -1 for none.
Rows = NDArray[np.int32]

_LISTED: Final = "(list_position([{}], {}) - 1)::TINYINT"


def _code(column: str, words: Sequence[str]) -> str:
    """A column of a few known words as their positions."""
    return _LISTED.format(", ".join(f"'{word}'" for word in words), column)


_SPANS: Final = {
    "id": "id::INTEGER",
    "ts": "ts",
    "dur": "coalesce(dur, -1)",
    "track": "track",
    "name": "name_id",
    "category": _code("category", CATEGORIES),
    "step": "coalesce(step, -1)",
}
_DEVICE_SQL: Final = f"""
SELECT event, track, ts, dur, coalesce(device, -1)::INTEGER AS device, coalesce(step, -1)::INTEGER AS step,
    {_code("kind", KERNEL_KINDS)} AS kind, {_code("op_class", OP_CLASSES)} AS op_class, name_id AS name,
    coalesce(launch, -1) AS launch, coalesce(op, -1) AS op, graph IS NOT NULL AS in_graph,
    launch_ts IS NOT NULL AS launched, coalesce(launch_track, -1)::INTEGER AS thread, coalesce(launch_ts, -1) AS called,
    coalesce(launch_dur, -1) AS call_ns, coalesce(launch_step, -1)::INTEGER AS call_step
FROM activities
"""
#: Directions of copies and kinds of memory, as positions in `Copies`; the last stands for any other.
DIRECTIONS: Final = ("HtoD", "DtoH", "DtoD", "")
MEMORIES: Final = ("pageable", "pinned", "device", "managed", "")


def _known(column: str, words: Sequence[str]) -> str:
    return f"(coalesce(nullif({_code(column, words[:-1])}, -1), {len(words) - 1}))::TINYINT"


_COPIES_SQL: Final = f"""
SELECT event, {_known("direction", DIRECTIONS)} AS direction, coalesce(bytes, -1) AS bytes,
    {_known("src_kind", MEMORIES)} AS src, {_known("dst_kind", MEMORIES)} AS dst
FROM copies
"""
_TEXTS_SQL: Final = """
SELECT texts, coalesce(shapes, '') AS shapes, coalesce(dtypes, '') AS dtypes, coalesce(strides, '') AS strides
FROM input_texts
"""
_GRIDS_SQL: Final = """
SELECT event, coalesce(grid[1]::DOUBLE * grid[2] * grid[3], 0)::DOUBLE AS blocks,
    coalesce(grid[1]::DOUBLE * grid[2] * grid[3] * block[1] * block[2] * block[3], 0)::DOUBLE AS threads,
    coalesce(grid[3], 0)::INTEGER AS depth, hash(grid) AS grid
FROM kernels
"""


@dataclass(frozen=True, slots=True)
class _Column:
    """Reads one column of `spans`; equal ones are the same to `Trace.once`."""

    name: str

    def __call__(self, trace: Trace) -> NDArray[Any]:
        return trace.columns(f"SELECT {_SPANS[self.name]} AS one FROM spans")["one"]


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The n events of a trace of one rank, in the order in which they are stored."""

    trace: Trace

    @property
    def id(self) -> NDArray[np.int32]:
        """int32[n]."""
        return self.trace.once(_Column("id"))

    @property
    def ts(self) -> Times:
        """int64[n], begins."""
        return self.trace.once(_Column("ts"))

    @property
    def dur(self) -> Times:
        """int64[n], durations; -1 if there is none."""
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
    def by_id(self) -> Rows:
        """int32[n], positions by id."""
        row_of = self.trace.once(_rows)
        found: Rows = row_of[row_of >= 0]
        return found

    @property
    def around(self) -> Rows:
        """int32[n], position of the event around each; -1 if there is none."""
        return self.trace.once(_around)

    def of(self, *categories: str) -> NDArray[np.bool_]:
        """Whether events are of one of these categories, bool[n]."""
        return _among(self.category, CATEGORIES, categories)

    def rows(self, ids: NDArray[Any]) -> Rows:
        """Positions of events, -1 for -1 and for events that the trace lacks."""
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
    spans = Spans(trace)
    return spans.rows(trace.columns("SELECT coalesce(parent, -1)::INTEGER AS parent FROM spans")["parent"])


@dataclass(frozen=True, slots=True, eq=False)
class DeviceWork:
    """The n device activities of a trace of one rank, in no particular order.

    Attributes:
        event: int64[n].
        track: int32[n].
        ts: int64[n].
        dur: int64[n].
        device: int32[n]; -1 if not recorded.
        step: int32[n]; -1 outside every step.
        kind: int8[n], position in `KERNEL_KINDS`.
        op_class: int8[n], position in `OP_CLASSES`.
        name: int32[n], `name_id`.
        launch: int64[n], the launching event; -1 if not recorded.
        op: int64[n], the operator around it; -1 if not recorded.
        in_graph: bool[n].
        launched: bool[n], whether the trace has the launching event; what follows is of that, -1 if there is none.
        thread: int32[n], track.
        called: int64[n], begin.
        call_ns: int64[n], duration; -1 if not recorded.
        call_step: int32[n], step; -1 outside every step.
    """

    event: Ids
    track: NDArray[np.int32]
    ts: Times
    dur: Times
    device: NDArray[np.int32]
    step: NDArray[np.int32]
    kind: NDArray[np.int8]
    op_class: NDArray[np.int8]
    name: NDArray[np.int32]
    launch: Ids
    op: Ids
    in_graph: NDArray[np.bool_]
    launched: NDArray[np.bool_]
    thread: NDArray[np.int32]
    called: Times
    call_ns: Times
    call_step: NDArray[np.int32]

    @classmethod
    def of(cls, trace: Trace) -> DeviceWork:
        """Those of a trace, read once."""
        return trace.once(_device_work)

    def rows(self, trace: Trace, events: Ids) -> Ids:
        """Positions of activities, which must be some of this trace."""
        order = trace.once(_by_event)
        found: Ids = order[np.searchsorted(self.event, events, sorter=order)]
        return found

    def is_class(self, *classes: OpClass) -> NDArray[np.bool_]:
        """Whether activities are of one of these classes, bool[n]."""
        return _among(self.op_class, OP_CLASSES, classes)

    def are(self, *kinds: str) -> NDArray[np.bool_]:
        """Whether activities are of one of these kinds, bool[n]."""
        return _among(self.kind, KERNEL_KINDS, kinds)


@dataclass(frozen=True, slots=True, eq=False)
class Grids:
    """How each of the n activities of `DeviceWork` was launched.

    Attributes:
        blocks: float64[n]; 0 if not recorded.
        threads: float64[n], of all blocks; 0 if not recorded.
        depth: int32[n], blocks in z; 0 if not recorded.
        grid: uint64[n], equal for equal grids.
    """

    blocks: NDArray[np.float64]
    threads: NDArray[np.float64]
    depth: NDArray[np.int32]
    grid: NDArray[np.uint64]

    @classmethod
    def of(cls, trace: Trace) -> Grids:
        """Those of a trace, read once."""
        return trace.once(_grids)


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """The n rows of `copies` of a trace of one rank.

    Attributes:
        at: int64[n], position of the activity in `DeviceWork`.
        direction: int8[n], position in `DIRECTIONS`.
        bytes: int64[n]; -1 if not recorded.
        src: int8[n], position in `MEMORIES`.
        dst: int8[n], likewise.
    """

    at: Ids
    direction: NDArray[np.int8]
    bytes: Ids
    src: NDArray[np.int8]
    dst: NDArray[np.int8]

    @classmethod
    def of(cls, trace: Trace) -> Copies:
        """Those of a trace, read once."""
        return trace.once(_copies)

    def rows(self, at: NDArray[np.int64]) -> Rows:
        """Positions of the copies that these activities are, -1 for those that are none."""
        row_of = np.full(max(int(self.at.max(initial=-1)), int(at.max(initial=-1))) + 2, -1, np.int32)
        row_of[self.at] = np.arange(self.at.size, dtype=np.int32)
        return row_of[at]

    @property
    def pageable(self) -> NDArray[np.bool_]:
        """Whether one end is pageable memory, bool[n]."""
        code = MEMORIES.index("pageable")
        either: NDArray[np.bool_] = (self.src == code) | (self.dst == code)
        return either


def _copies(trace: Trace) -> Copies:
    rows = trace.columns(_COPIES_SQL)
    at = DeviceWork.of(trace).rows(trace, rows.pop("event"))
    return Copies(at=at, **rows)


def _among(codes: NDArray[np.int8], words: Sequence[str], wanted: Sequence[str]) -> NDArray[np.bool_]:
    chosen = np.zeros(len(words), np.bool_)
    chosen[[words.index(word) for word in wanted]] = True
    mine: NDArray[np.bool_] = chosen[codes]
    return mine


def _device_work(trace: Trace) -> DeviceWork:
    rows = trace.columns(_DEVICE_SQL)
    return DeviceWork(**{one.name: rows[one.name] for one in fields(DeviceWork)})


def _grids(trace: Trace) -> Grids:
    rows = by_event(trace, trace.columns(_GRIDS_SQL))
    return Grids(**{one.name: rows[one.name] for one in fields(Grids)})


def by_event(trace: Trace, rows: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Rows of all of `kernels`, each with its `event`, in the order of `DeviceWork`."""
    events = DeviceWork.of(trace).event
    if np.array_equal(rows["event"], events):
        return rows
    order = np.argsort(rows["event"], kind="stable")
    at = order[np.searchsorted(rows["event"], events, sorter=order)]
    return {name: values[at] for name, values in rows.items()}


def _by_event(trace: Trace) -> Ids:
    """Positions in `DeviceWork` by event."""
    return np.argsort(DeviceWork.of(trace).event, kind="stable")


def inputs_of(trace: Trace) -> NDArray[np.int32]:
    """For each event of `Spans` the row of `input_texts` that its inputs are in; -1 if there is none.

    Ask for it with `Trace.once`.
    """
    spans = Spans(trace)
    calls = trace.columns("SELECT event, coalesce(texts, -1)::INTEGER AS texts FROM input_calls")
    found = np.full(spans.id.size, -1, np.int32)
    at = spans.rows(calls["event"])
    found[at[at >= 0]] = calls["texts"][at >= 0]
    return found


def names_by_id(trace: Trace) -> dict[int, str]:
    """All names of events by `name_id`; ask for it with `Trace.once`."""
    rows = trace.columns("SELECT name_id, name FROM names")
    return dict(zip(rows["name_id"].tolist(), rows["name"].tolist(), strict=True))


def named(trace: Trace, test: Callable[[str], object]) -> NDArray[np.bool_]:
    """Whether the name of each event passes a test, bool[n] in the order of `Spans`."""
    names = trace.once(names_by_id)
    chosen = np.zeros(max(names, default=-1) + 1, np.bool_)
    chosen[[name_id for name_id, name in names.items() if test(name)]] = True
    found: NDArray[np.bool_] = chosen[Spans(trace).name]
    return found


def input_texts(trace: Trace) -> dict[int, dict[str, str]]:
    """The rows of `input_texts`: shapes, dtypes and strides as JSON, empty where not recorded.

    Ask for it with `Trace.once`.
    """
    return {row["texts"]: row for row in trace.rows(_TEXTS_SQL)}


def on_host(trace: Trace, tracks: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether tracks are host threads."""
    known: NDArray[np.bool_] = trace.once(_host_tracks)[tracks]
    return known


def _host_tracks(trace: Trace) -> NDArray[np.bool_]:
    """Whether each track is a host thread, bool[tracks + 1]; the last place stands for -1."""
    rows = trace.columns("SELECT track, kind = 'host' AS host FROM tracks")
    host = np.zeros(max(int(rows["track"].max(initial=-1)), int(Spans(trace).track.max(initial=-1))) + 2, np.bool_)
    host[rows["track"]] = rows["host"]
    return host
