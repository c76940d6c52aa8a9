"""What the segments of a critical path are: work of a kind, or a kind of waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared import host_states as host
from stepscope.analyses.shared.host_states import HostStates, host_states
from stepscope.analyses.shared.thread_states import StateTimes
from stepscope.analyses.stepgraph.building import device_activities, host_calls
from stepscope.analyses.stepgraph.building import nodes as graph
from stepscope.analyses.stepgraph.building.build import Built
from stepscope.analyses.stepgraph.path import PathSegments
from stepscope.model.intervals import Times
from stepscope.model.partition import overlay_lanes
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
_BATCH: Label = ("data", None)
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

    @classmethod
    def joined(cls, parts: list[PathParts]) -> PathParts:
        """All of several."""
        return cls(
            np.concatenate([part.segment for part in parts]),
            np.concatenate([part.took for part in parts]),
            [label for part in parts for label in part.label],
        )


def labelled(trace: Trace, built: Built, segments: PathSegments) -> PathParts:
    """Say of each segment what it is."""
    waited = np.zeros(built.activities.ts.size, np.int64)
    waited[built.peers.activity] = built.peers.wait
    host_work = host_parts(trace, built, segments)
    return PathParts.joined([host_work, edge_parts(built, segments), activity_parts(trace, built, segments, waited)])


def edge_parts(built: Built, segments: PathSegments) -> PathParts:
    """Segments between nodes, other than host work."""
    kinds = built.graph.nodes.kind[segments.node]
    mine = np.flatnonzero((segments.kind != graph.GOES_ON) & ((segments.kind != graph.NODE) | (kinds != graph.DEVICE)))
    labels = [_OF_EDGE.get(kind, ("unknown", None)) for kind in segments.kind[mine].tolist()]
    # The first batch that is waited for has none before it: the workers took as long for it.
    labels = [_BATCH if batch else label for label, batch in zip(labels, kinds[mine] == graph.BATCH, strict=True)]
    return PathParts(mine, (segments.ends - segments.starts)[mine], labels)


def activity_parts(
    trace: Trace, built: Built, segments: PathSegments, waited: Times, free: Times | None = None
) -> PathParts:
    """Segments of device activities, by kind.

    Args:
        trace: The trace of one rank.
        built: Its graph.
        segments: The segments.
        waited: int64[activities], how long each waits for other ranks.
        free: int64[activities], when each was free to start; None for when it did.
    """
    mine = np.flatnonzero((segments.kind == graph.NODE) & (built.graph.nodes.kind[segments.node] == graph.DEVICE))
    activity = built.graph.nodes.item[segments.node[mine]]
    events = built.activities.event[activity]
    named = trace.rows(_CLASSES_SQL, {"events": np.unique(events).tolist()})
    classes = {row["event"]: (row["class"], row["direction"]) for row in named}
    kinds = built.activities.kind[activity].tolist()
    took = (segments.ends - segments.starts)[mine]
    # Waiting for other ranks comes first; a segment that begins later in the collective has less of it.
    late = segments.starts[mine] - (built.activities.ts if free is None else free)[activity]
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


#: How long stretches of recorded host time take: of the segments that they are of, their starts and ends.
Lasting = Callable[[NDArray[np.int64], Times, Times], Times]


def host_parts(
    trace: Trace,
    built: Built,
    segments: PathSegments,
    lasting: Lasting = lambda _, starts, ends: ends - starts,
) -> PathParts:
    """Host work between points, by cause as in `idle_causes`; launch calls have a label of their own.

    Args:
        trace: The trace of one rank.
        built: Its graph.
        segments: Segments; those of host work as they were recorded.
        lasting: How long parts of them take.
    """
    states: HostStates | None = trace.once(host_states)
    mine = np.flatnonzero(segments.kind == graph.GOES_ON)
    starts, ends = segments.starts[mine], segments.ends[mine]
    if states is None:
        return PathParts(mine, lasting(mine, starts, ends), [("host", "other")] * mine.size)
    thread = built.points.track[built.graph.nodes.item[segments.node[mine]]]
    feeder = np.where(np.isin(thread, states.feeders), thread, states.feeders[0]).astype(np.int64)
    parts = states.cut(feeder, starts, ends)
    calls = built.calls
    launching = np.flatnonzero(calls.role == host_calls.LAUNCH)
    launches = StateTimes(
        calls.track[launching].astype(np.int64), np.zeros(launching.size, np.int8),
        calls.ts[launching], calls.end[launching],
    ).united()  # fmt: skip
    inside = overlay_lanes(
        feeder[parts.interval], parts.starts, parts.ends, launches.track, launches.starts, launches.ends
    )
    segment = mine[parts.interval]
    within = np.zeros(parts.starts.size, np.int64)
    np.add.at(within, inside[2], lasting(segment[inside[2]], inside[0], inside[1]))
    within[parts.state != host.RUNTIME] = 0
    labels = [_OF_STATE[one] for one in parts.state.tolist()]
    return PathParts(
        np.concatenate((segment, segment)),
        np.concatenate((np.maximum(lasting(segment, parts.starts, parts.ends) - within, 0), within)),
        labels + [("launch", "call")] * segment.size,
    )
