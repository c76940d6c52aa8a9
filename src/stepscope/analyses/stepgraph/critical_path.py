"""The critical path of each step: the chain of work and waiting from its end back to its start.

Work that is not on the chain overlaps with it, and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared import host_states as host
from stepscope.analyses.shared.host_states import HostStates, host_states
from stepscope.analyses.stepgraph.building import device_activities, host_calls
from stepscope.analyses.stepgraph.building import nodes as graph
from stepscope.analyses.stepgraph.building.build import Built
from stepscope.analyses.stepgraph.graph import StepGraph
from stepscope.analyses.stepgraph.path import PathSegments, critical_segments
from stepscope.model.intervals import Intervals, Times
from stepscope.model.partition import overlay
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

CRITICAL_PATH = TableSchema(
    "critical_path",
    "One row per step, part of its critical path and detail; `step` is null for all these steps together. The rows "
    "of a step add up to its `total_ns` in `step_budget`. Of long recordings, only some typical steps are looked at.",
    (
        RANK,
        Column("step", "int32", "Step, as in `steps`; null for all looked at.", "", True),
        text(
            "part",
            "kernel, communication, copy, host (not launched yet), launch (launch calls, and from a launch to its "
            "start), data (the loader), synchronisation (blocking calls themselves), allocation, profiler, dependency "
            "(from the end of an activity to the start of what waits for it on another queue) or unknown.",
        ),
        text(
            "detail",
            "What within the part: the class of kernels, the direction of copies, whether a collective moved data or "
            "waited for other ranks, what the host did; null where there is no further split.",
            nullable=True,
        ),
        ns("total_ns", "Time on the critical path."),
        fraction("share", "total_ns as a share of the step, or of all these steps."),
        count("count", "Segments of the path."),
    ),
)

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


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Segments of critical paths with their labels."""

    step: NDArray[np.int32]
    took: Times
    label: list[Label]


def critical_path(trace: Trace) -> Table:
    """Sum up each step's critical path by label.

    Raises:
        MissingInputError: The recording has neither device work nor host steps.
    """
    built = StepGraph.of(trace).built
    segments = critical_segments(built)
    states = trace.once(host_states)
    parts = [_host(built, segments, states), _edges(built, segments), _activities(trace, built, segments)]
    step = np.concatenate([part.step for part in parts])
    took = np.concatenate([part.took for part in parts])
    return Table.from_rows(CRITICAL_PATH, _rows(trace.ranks[0], step, took, [x for part in parts for x in part.label]))


def _edges(built: Built, segments: PathSegments) -> _Labelled:
    """Segments between nodes, other than host work."""
    kinds = built.graph.nodes.kind[segments.node]
    mine = (segments.kind != graph.GOES_ON) & ((segments.kind != graph.NODE) | (kinds != graph.DEVICE))
    labels = [_OF_EDGE.get(kind, ("unknown", None)) for kind in segments.kind[mine].tolist()]
    return _Labelled(segments.step[mine], (segments.ends - segments.starts)[mine], labels)


def _activities(trace: Trace, built: Built, segments: PathSegments) -> _Labelled:
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
    return _Labelled(
        np.concatenate((segments.step[mine], segments.step[mine][some])),
        np.concatenate((took - waiting, waiting[some])),
        labels + [("communication", "waiting for other ranks")] * some.size,
    )


def _of_activity(kind: int, op_class: str, direction: str) -> Label:
    if kind == device_activities.COMM:
        return ("communication", "moving data")
    return ("kernel", op_class) if kind == device_activities.COMPUTE else ("copy", direction)


def _host(built: Built, segments: PathSegments, states: HostStates | None) -> _Labelled:
    """Host work between points, by cause as in `idle_causes`; launch calls have a label of their own."""
    mine = np.flatnonzero(segments.kind == graph.GOES_ON)
    starts, ends, step = segments.starts[mine], segments.ends[mine], segments.step[mine]
    if states is None:
        return _Labelled(step, ends - starts, [("host", "other")] * mine.size)
    thread = built.points.track[built.graph.nodes.item[segments.node[mine]]]
    thread = np.where(np.isin(thread, states.feeders), thread, states.feeders[0])
    launching = built.calls.role == host_calls.LAUNCH
    found: list[_Labelled] = []
    for one in np.unique(thread).tolist():
        own = np.flatnonzero(thread == one)
        lo, hi = int(starts[own].min()), int(ends[own].max())
        at, until, state = states.timeline(one, lo, hi)
        start, finish, segment, tile = overlay(starts[own], ends[own], at, until)
        labels = [_OF_STATE[s] for s in state[tile].tolist()]
        calls = launching & (built.calls.track == one)
        within = Intervals.union_of(built.calls.ts[calls], built.calls.end[calls]).within(start, finish)
        within = np.where(state[tile] == host.RUNTIME, within, 0)
        found.append(_Labelled(step[own[segment]], finish - start - within, labels))
        found.append(_Labelled(step[own[segment]], within, [("launch", "call")] * segment.size))
    steps, took = ([getattr(part, name) for part in found] for name in ("step", "took"))
    return _Labelled(
        np.concatenate([step[:0], *steps]), np.concatenate([starts[:0], *took]), [x for f in found for x in f.label]
    )


def _rows(rank: int, step: NDArray[np.int32], took: Times, label: list[Label]) -> list[tuple[object, ...]]:
    """Sums by step and label, and by label alone; the longest first."""
    sums: dict[tuple[int | None, Label], list[int]] = {}
    totals: dict[int | None, int] = {}
    for number, ns_, what in zip(step.tolist(), took.tolist(), label, strict=True):
        if not ns_:
            continue
        for key in (number, None):
            row = sums.setdefault((key, what), [0, 0])
            row[0] += ns_
            row[1] += 1
            totals[key] = totals.get(key, 0) + ns_
    order = sorted(sums, key=lambda key: (key[0] is None, key[0] or 0, -sums[key][0], key[1][0], key[1][1] or ""))
    return [
        (rank, number, *what, sums[number, what][0], sums[number, what][0] / totals[number], sums[number, what][1])
        for number, what in order
    ]


ANALYSES = (Analysis(CRITICAL_PATH, critical_path),)
