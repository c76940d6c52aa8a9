"""What the critical path of the mean step consists of, as recorded and under a change: what limits the changed step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import device_activities
from stepscope.analyses.stepgraph.building import nodes as graph
from stepscope.analyses.stepgraph.building.build import Built
from stepscope.analyses.stepgraph.graph import Prediction, StepGraph
from stepscope.analyses.stepgraph.labels import (
    MOVING,
    Label,
    PathParts,
    activity_parts,
    edge_parts,
    host_parts,
    labelled,
)
from stepscope.analyses.stepgraph.path import Course, PathSegments, critical_segments
from stepscope.analyses.stepgraph.replay import Timing, replay
from stepscope.model.events.change import Change
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace


@dataclass(frozen=True, slots=True)
class PathTime:
    """Time of one kind on the critical path of the mean step.

    Attributes:
        part: As in `critical_path`.
        detail: As there.
        base_ns: As recorded. All add up to `base_ns` of the prediction.
        new_ns: Under the change. All add up to `new_ns`.
    """

    part: str
    detail: str | None
    base_ns: int
    new_ns: int


def path_times(trace: Trace, change: Change, prediction: Prediction) -> list[PathTime]:
    """The critical path of the mean step by what it consists of, the longest under the change first.

    Args:
        trace: The trace of one rank.
        change: The change.
        prediction: What its graph predicts of it.
    """
    stepgraph = StepGraph.of(trace)
    built = stepgraph.built
    recorded = labelled(trace, built, critical_segments(built))
    before = _adding_up(_sums(recorded), prediction.base_ns)
    left = _sums(_changed(trace, stepgraph, change))
    more = prediction.new_ns * len(prediction.steps) - sum(left.values())
    if change.overlapped.size and more > 0:
        # What overlaps everything still runs one after the other, and that takes longer than any chain of the rest.
        label = _of_overlapped(stepgraph, change)
        left[label] = left.get(label, 0) + more
    after = _adding_up(left, prediction.new_ns)
    both = [PathTime(*label, before.get(label, 0), after.get(label, 0)) for label in {**before, **after}]
    return sorted(both, key=lambda one: (-one.new_ns, -one.base_ns, one.part, one.detail or ""))


def course_under(built: Built, timing: Timing, ends: Times) -> Course:
    """When nodes run under a change, and what lets each of them start.

    Args:
        built: The graph.
        timing: Its times under the change.
        ends: int64[n], end of each node in the replay.
    """
    first = built.graph.first
    arrival = ends[timing.on] + timing.lag
    starts, decisive = ends - timing.took, np.zeros(ends.size, np.int64)
    some = np.flatnonzero(first[1:] > first[:-1])
    if some.size:
        latest = np.maximum.reduceat(arrival, first[some])
        last = np.full(ends.size, np.iinfo(np.int64).min)
        last[some] = latest
        node = np.repeat(np.arange(ends.size), np.diff(first))
        # The first of those that come last: edges are ordered by what decided in the recording.
        deciding = np.flatnonzero(arrival == last[node])[::-1]
        decisive[node[deciding]] = deciding
        # A collective that waits for other ranks was free to start when its own rank was ready.
        starts[some] = np.minimum(starts[some], np.maximum(latest, ends[0]))
    return Course(starts, ends, timing.on, decisive)


def _changed(trace: Trace, stepgraph: StepGraph, change: Change) -> PathParts:
    built, effects = stepgraph.built, stepgraph.effects
    timing = effects.of(change)
    course = course_under(built, timing, replay(built.graph, timing))
    segments = critical_segments(built, course)
    free, moving = course.starts[built.device], timing.took[built.device]
    waited = np.maximum(course.ends[built.device] - moving - free, 0)
    waited[~np.isin(built.device, effects.late.node)] = 0
    return PathParts.joined([
        _host(trace, stepgraph, change, course, segments),
        edge_parts(built, segments),
        activity_parts(trace, built, segments, waited, free),
    ])  # fmt: skip


def _host(trace: Trace, stepgraph: StepGraph, change: Change, course: Course, segments: PathSegments) -> PathParts:
    """Host work of the changed path: the recorded stretches, of which each part takes what the change leaves of it."""
    found, nodes = stepgraph.built.graph, stepgraph.built.graph.nodes
    mine = segments.kind == graph.GOES_ON
    edge = course.decisive[segments.node]
    since = np.where(mine, nodes.end[found.on[edge]] if found.on.size else 0, segments.starts)
    until = np.where(mine, since + np.maximum(found.lag[edge], 0) if found.on.size else 0, segments.ends)
    stretches = PathSegments(segments.step, since, until, segments.node, segments.kind)

    def lasting(segment: NDArray[np.int64], starts: Times, ends: Times) -> Times:
        return stepgraph.effects.host_time(change, segments.node[segment], starts, ends)

    parts = host_parts(trace, stepgraph.built, stretches, lasting)
    whole = np.zeros(segments.step.size, np.int64)
    np.add.at(whole, parts.segment, parts.took)
    took = segments.ends - segments.starts
    # A step begins within a stretch, and then has less of it.
    share = np.divide(took, whole, out=np.zeros(whole.size), where=whole > 0)
    return PathParts(parts.segment, np.rint(parts.took * share[parts.segment]).astype(np.int64), parts.label)


def _sums(parts: PathParts) -> dict[Label, int]:
    found: dict[Label, int] = {}
    for label, took in zip(parts.label, parts.took.tolist(), strict=True):
        if took > 0:
            found[label] = found.get(label, 0) + took
    return found


def _of_overlapped(stepgraph: StepGraph, change: Change) -> Label:
    kinds = stepgraph.built.activities.kind[stepgraph.effects.activities(change.overlapped)]
    return MOVING if (kinds == device_activities.COMM).any() else ("copy", None)


def _adding_up(sums: dict[Label, int], total: int) -> dict[Label, int]:
    """Sums of several steps as parts of a mean step of `total` ns, rounded so that they add up."""
    whole, done, found = sum(sums.values()), 0, dict[Label, int]()
    for label in sums:
        before = done
        done += sums[label]
        found[label] = done * total // whole - before * total // whole
    return found
