"""The critical path: the chain of work and waiting whose lengths add up to each step."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.build import Built
from stepscope.analyses.stepgraph.building.nodes import NODE
from stepscope.analyses.stepgraph.building.points import END
from stepscope.analyses.stepgraph.windows import windows
from stepscope.model.intervals import Times

#: Start, end, node and kind, as in `PathSegments`.
Segment = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class PathSegments:
    """The n segments of the critical paths of the counted steps; the segments of a step tile its window.

    Attributes:
        step: int32[n], as in `steps`.
        starts: int64[n].
        ends: int64[n].
        node: int64[n], the node that the segment is of, or that its edge leads to.
        kind: int8[n], kind of that edge, or `NODE` for the node's own time.
    """

    step: NDArray[np.int32]
    starts: Times
    ends: Times
    node: NDArray[np.int64]
    kind: NDArray[np.int8]

    @classmethod
    def of(cls, found: list[tuple[int, Segment]]) -> PathSegments:
        """Segments with their steps."""
        columns = np.array([(step, *segment) for step, segment in found], np.int64).reshape(-1, 5).T
        return cls(columns[0].astype(np.int32), columns[1], columns[2], columns[3], columns[4].astype(np.int8))


@dataclass(frozen=True, slots=True)
class Course:
    """When the nodes of a graph ran, and what let each of them start: as recorded, or under a change.

    Attributes:
        starts: int64[n], when each node was free to start.
        ends: int64[n].
        on: int64[m], the node that each edge comes from.
        decisive: int64[n], the edge that let each node start; any for those without edges.
    """

    starts: Times
    ends: Times
    on: NDArray[np.int64]
    decisive: NDArray[np.int64]

    @classmethod
    def recorded(cls, built: Built) -> Course:
        """As it was recorded."""
        graph = built.graph
        decisive = graph.first[:-1].copy()
        decisive[0] = decisive[1] if decisive.size > 1 else 0
        return cls(graph.nodes.start, graph.nodes.end, graph.on, decisive)


def critical_segments(built: Built, course: Course | None = None) -> PathSegments:
    """Walk every counted step from its end back to its start, each time to the decisive predecessor."""
    course = course or Course.recorded(built)
    starts, stops = windows(built, course.ends)
    found: list[tuple[int, Segment]] = []
    path = DecisivePath(built, course)
    for number in range(built.selection.lead, starts.size):
        lo, hi = int(starts[number]), int(stops[number])
        if hi > lo:
            segments, _, _ = path.back(last_node(built, number, hi, course.ends), lo, hi)
            found += [(int(built.selection.step[number]), segment) for segment in segments]
    return PathSegments.of(found)


class DecisivePath:
    """The decisive edges of a graph as lists, which are faster to walk than arrays.

    Attributes:
        starts: Start of each node.
        ends: End of each node.
        on: The node that let each start; 0 for the origin.
        kind: Kind of the edge between them.
    """

    def __init__(self, built: Built, course: Course | None = None) -> None:
        course = course or Course.recorded(built)
        self.starts, self.ends = course.starts.tolist(), course.ends.tolist()
        self.on = course.on[course.decisive].tolist() if course.on.size else [0]
        self.kind = built.graph.kind[course.decisive].tolist() if course.on.size else [NODE]

    def back(self, node: int, lo: int, hi: int, stops: Collection[int] = ()) -> tuple[list[Segment], int, int]:
        """Segments from `hi` back to `lo`, or to the first of other nodes that the path comes to.

        What comes after the node's end, where no host is recorded, is a segment of node 0.

        Args:
            node: Where to begin.
            lo: Where to end.
            hi: When to begin; what the node does afterwards is left out.
            stops: Nodes at which the walk ends, before their own time; `node` itself is none.

        Returns:
            The segments, the last first; the node of `stops` that was reached, 0 if none was; when it was left.
        """
        segments: list[Segment] = []
        if node and self.ends[node] < hi:
            end = max(self.ends[node], lo)
            segments.append((end, hi, 0, NODE))
            hi = end
        while hi > lo:
            start = max(min(self.starts[node], hi), lo) if node else lo
            if start < hi:
                segments.append((start, hi, node, NODE))
            hi = start
            if hi <= lo or not node:
                break
            before = self.on[node]
            start = max(min(self.ends[before], hi), lo)
            if start < hi:
                segments.append((start, hi, node, self.kind[node]))
            # A follower may be let in before its predecessor has ended: then it has overtaken the rest of that.
            hi, node = start, before
            if node in stops and hi > lo:
                return segments, node, hi
        return segments, 0, lo


def last_node(built: Built, number: int, stop: int, ends: Times | None = None) -> int:
    """The node at which a step ends: its last device activity, or its end on the host.

    Args:
        built: The graph.
        number: Position of the step.
        stop: When it ends.
        ends: int64[n], end of each node; None for those of the recording.
    """
    step = built.selection.step[number]
    device = built.device[built.activities.step == step]
    ends = built.graph.nodes.end if ends is None else ends
    if device.size and ends[device].max() == stop:
        return int(device[ends[device].argmax()])
    marks = np.flatnonzero((built.points.kind == END) & (built.points.step == step))
    if marks.size:
        return int(built.host[marks[0]])
    return int(np.searchsorted(ends, stop, side="right")) - 1
