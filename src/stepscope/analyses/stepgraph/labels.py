"""What the segments of a critical path are: work of a kind, or a kind of waiting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared import host_states as host
from stepscope.analyses.shared.host_states import HostStates, host_states
from stepscope.analyses.stepgraph.building import device_activities, host_calls
from stepscope.analyses.stepgraph.building import nodes as graph
from stepscope.analyses.stepgraph.building.build import Built
from stepscope.analyses.stepgraph.path import PathSegments
from stepscope.model.intervals import Intervals, Times
from stepscope.model.partition import overlay
from stepscope.model.trace import Trace

#: Part and detail, as in table `critical_path`.
Label = tuple[str, str | None]

_OF_STATE: dict[int, Label] = {
    host.SYNC: ("synchronisation", None),
    host.ALLOCATION: ("allocation", None),
    host.GC: ("host", "gc"),
    host.OVERHEAD: ("profiler", None),
    host.DATA: ("data", None),
    host.RUNTIME: ("host", "runtime call"),
    host.OP: ("host", "operator"),
    host.PYTHON: ("host", "python"),
    host.OTHER: ("host", "other"),
    host.SILENT: ("unknown", "host not recorded"),
}
_OF_EDGE: dict[int, Label] = {
    graph.LAUNCHES: ("launch", "latency"),
    graph.HANDS: ("launch", "handed to another thread"),
    graph.FOLLOWS: ("launch", "between activities of a queue"),
    graph.EVENT: ("dependency", None),
    graph.WAITS: ("synchronisation", None),
    graph.ROOM: ("launch", "call"),
    graph.ARRIVES: ("data", None),
    graph.NEXT_BATCH: ("data", None),
    graph.STARTS: ("unknown", "start not explained"),
}
_CLASSES_SQL = """
SELECT k.event, k.op_class AS class, coalesce(c.direction, k.kind) AS direction
FROM kernels k LEFT JOIN copies c ON c.event = k.event WHERE k.event IN (SELECT unnest($events))
"""


WAITING: Label = ("communication", "waiting for other ranks")
MOVING: Label = ("communication", "moving data")


@dataclass(frozen=True, slots=True)
class PathParts:
    """Segments of critical paths by label: n parts of them, which add up to each segment.

    Attributes:
        segment: int64[n], positions in `PathSegments`.
        took: int64[n] ns.
        label: n labels.
    """

    segment: NDArray[np.int64]
    took: Times
    label: list[Label]


def labelled(trace: Trace, built: Built, segments: PathSegments) -> PathParts:
    """Say of each segment what it is."""
    states = trace.once(host_states)
    parts = [_host(built, segments, states), _edges(built, segments), _activities(trace, built, segments)]
    return PathParts(
        np.concatenate([part.segment for part in parts]),
        np.concatenate([part.took for part in parts]),
        [label for part in parts for label in part.label],
    )


def _edges(built: Built, segments: PathSegments) -> PathParts:
    """Segments between nodes, other than host work."""
    kinds = built.graph.nodes.kind[segments.node]
    mine = np.flatnonzero((segments.kind != graph.GOES_ON) & ((segments.kind != graph.NODE) | (kinds != graph.DEVICE)))
    labels = [_OF_EDGE.get(kind, ("unknown", None)) for kind in segments.kind[mine].tolist()]
    return PathParts(mine, (segments.ends - segments.starts)[mine], labels)


def _activities(trace: Trace, built: Built, segments: PathSegments) -> PathParts:
    mine = np.flatnonzero((segments.kind == graph.NODE) & (built.graph.nodes.kind[segments.node] == graph.DEVICE))
    activity = built.graph.nodes.item[segments.node[mine]]
    events = built.activities.event[activity]
    named = trace.rows(_CLASSES_SQL, {"events": np.unique(events).tolist()})
    classes = {row["event"]: (row["class"], row["direction"]) for row in named}
    kinds = built.activities.kind[activity].tolist()
    took = (segments.ends - segments.starts)[mine]
    waited = np.zeros(built.activities.ts.size, np.int64)
    waited[built.peers.activity] = built.peers.wait
    # Waiting for other ranks comes first; a segment that begins later in the collective has less of it.
    late = segments.starts[mine] - built.activities.ts[activity]
    waiting = np.clip(waited[activity] - late, 0, took)
    labels = [_of_activity(kind, *classes[event]) for kind, event in zip(kinds, events.tolist(), strict=True)]
    some = np.flatnonzero(waiting > 0)
    return PathParts(
        np.concatenate((mine, mine[some])),
        np.concatenate((took - waiting, waiting[some])),
        labels + [WAITING] * some.size,
    )


def _of_activity(kind: int, op_class: str, direction: str) -> Label:
    if kind == device_activities.COMM:
        return MOVING
    return ("kernel", op_class) if kind == device_activities.COMPUTE else ("copy", direction)


def _host(built: Built, segments: PathSegments, states: HostStates | None) -> PathParts:
    """Host work between points, by cause as in `idle_causes`; launch calls have a label of their own."""
    mine = np.flatnonzero(segments.kind == graph.GOES_ON)
    starts, ends = segments.starts[mine], segments.ends[mine]
    if states is None:
        return PathParts(mine, ends - starts, [("host", "other")] * mine.size)
    thread = built.points.track[built.graph.nodes.item[segments.node[mine]]]
    thread = np.where(np.isin(thread, states.feeders), thread, states.feeders[0])
    launching = built.calls.role == host_calls.LAUNCH
    found: list[PathParts] = []
    for one in np.unique(thread).tolist():
        own = np.flatnonzero(thread == one)
        lo, hi = int(starts[own].min()), int(ends[own].max())
        at, until, state = states.timeline(one, lo, hi)
        start, finish, segment, tile = overlay(starts[own], ends[own], at, until)
        labels = [_OF_STATE[s] for s in state[tile].tolist()]
        calls = launching & (built.calls.track == one)
        within = Intervals.union_of(built.calls.ts[calls], built.calls.end[calls]).within(start, finish)
        within = np.where(state[tile] == host.RUNTIME, within, 0)
        found.append(PathParts(mine[own[segment]], finish - start - within, labels))
        found.append(PathParts(mine[own[segment]], within, [("launch", "call")] * segment.size))
    rows, took = ([getattr(part, name) for part in found] for name in ("segment", "took"))
    return PathParts(
        np.concatenate([mine[:0], *rows]), np.concatenate([starts[:0], *took]), [x for f in found for x in f.label]
    )
