"""What a rank contributes to the critical path of a job: what it did before others had to wait for it, and little else.

The path comes to a rank at the end of the step, or where this rank was the last of a collective: then the others have
waited for what it did before. It leaves the rank at the first collective before that in which this rank has waited. So
a rank for which nobody waits has one stretch to tell, and all ranks together little more than one per collective.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from stepscope.analyses.communication.collective_transfers import transfers
from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.building.build import Built, build
from stepscope.analyses.stepgraph.building.device_activities import COMM
from stepscope.analyses.stepgraph.building.nodes import DEVICE, NODE
from stepscope.analyses.stepgraph.building.selection import select_steps
from stepscope.analyses.stepgraph.labels import MOVING, WAITING, Label, labelled
from stepscope.analyses.stepgraph.path import PathSegments, Segment, last_node
from stepscope.analyses.stepgraph.windows import windows
from stepscope.cluster.critical.chosen import asked_step
from stepscope.cluster.critical.intervals import MixedSegment, PathInterval, joined
from stepscope.cluster.critical.matched_calls import MatchedCall, matched_calls
from stepscope.cluster.critical.stretches import stretches
from stepscope.model.trace import Trace

#: What takes less than such a part of the step is put together with other such work beside it.
SMALL: Final = 100
_NAMES_SQL: Final = "SELECT id, name FROM events WHERE id IN (SELECT unnest($events))"


class PathStop(NamedTuple):
    """A place where the path comes to a rank or leaves it, or where stretches of it come together.

    Attributes:
        start: When it begins, ns.
        call: The collective or message that it is; None for others.
        own: What it does itself, the last first.
        before: The stretch before it, the last first.
        then: Position in `RankPath.stops` of the stop at which that begins; -1 for the start of the step.
        left: When that stretch begins, ns.
    """

    start: int
    call: MatchedCall | None
    own: tuple[PathInterval, ...]
    before: tuple[PathInterval, ...]
    then: int
    left: int


@dataclass(frozen=True, slots=True)
class RankPath:
    """The step on one rank, in its own time.

    Attributes:
        step: Number.
        start: On the device, ns.
        end: Likewise.
        stops: Its stops; the first one is the end of the step.
    """

    step: int
    start: int
    end: int
    stops: tuple[PathStop, ...]


def path_of(trace: Trace) -> RankPath | None:
    """What the rank contributes; None where no step of the job is looked at.

    Raises:
        MissingInputError: The rank does not have the step, or nothing is recorded of it but sums.
    """
    asked = trace.once(asked_step)
    if asked is None or trace.ranks[0] not in asked.ranks:
        return None
    step = asked.number
    within = trace if step in select_steps(trace).counted else narrowed(trace, Filter((step,)))
    built = StepGraph.of(trace).built if within is trace else build(within)
    number = built.selection.step.tolist().index(step)
    starts, ends = windows(built, built.graph.nodes.end)
    lo, hi = int(starts[number]), int(ends[number])
    matched = _by_node(built, matched_calls(trace, asked), lo, hi)
    found = stretches(built, matched, trace.ranks[0], last_node(built, number, hi), lo, hi)
    segments = [part for one in found for part in (one.own, one.before)]
    told = iter(_intervals(within, built, step, segments, (hi - lo) // SMALL))
    place = {one.node: at for at, one in enumerate(found)}
    stops = [
        PathStop(one.start, matched.get(one.node), next(told), next(told), place.get(one.then, -1), one.left)
        for one in found
    ]
    return RankPath(step, lo, hi, tuple(stops))


def _by_node(built: Built, known: dict[int, MatchedCall], lo: int, hi: int) -> dict[int, MatchedCall]:
    """Matched calls of the step, by node of the graph."""
    nodes = built.graph.nodes
    mine = np.flatnonzero((nodes.kind == DEVICE) & (nodes.end > lo) & (nodes.start < hi))
    events = zip(mine.tolist(), nodes.event[mine].tolist(), strict=True)
    return {node: known[event] for node, event in events if event in known}


def _intervals(
    trace: Trace, built: Built, step: int, runs: list[list[Segment]], short: int
) -> list[tuple[PathInterval, ...]]:
    """Runs of segments as intervals of one kind; those of up to `short` ns are put together."""
    every = [segment for run in runs for segment in run]
    parts = labelled(trace, built, PathSegments.of([(step, segment) for segment in every]))
    mixes: dict[int, Counter[Label]] = defaultdict(Counter)
    for at, took, label in zip(parts.segment.tolist(), parts.took.tolist(), parts.label, strict=True):
        if took:
            mixes[at][label] += took
    _split_waits(trace.whole, built, every, mixes)
    events = built.graph.nodes.event.tolist()
    mixed = [
        MixedSegment(start, end, mixes[at], events[node], end - start)
        for at, (start, end, node, _) in enumerate(every)
    ]  # fmt: skip
    found, at = list[list[MixedSegment]](), 0
    for run in runs:
        found.append(joined(mixed[at : at + len(run)], short))
        at += len(run)
    names = _names(trace, {one.event for run in found for one in run})
    return [tuple(_interval(one, names) for one in run) for run in found]


def _split_waits(trace: Trace, built: Built, segments: list[Segment], mixes: dict[int, Counter[Label]]) -> None:
    """Tell waiting from moving data in communication by what the whole job knows of it, where it knows more."""
    nodes, comm = built.graph.nodes, built.activities.kind == COMM
    mine = [at for at, (_, _, node, kind) in enumerate(segments) if kind == NODE and nodes.kind[node] == DEVICE]
    mine = [at for at in mine if comm[nodes.item[segments[at][2]]]]
    item = nodes.item[[segments[at][2] for at in mine]].astype(np.int64)
    dur = built.activities.end[item] - built.activities.ts[item]
    moving, _ = trace.once(transfers).of(built.activities.event[item], dur)
    for at, started, waited in zip(mine, built.activities.ts[item].tolist(), (dur - moving).tolist(), strict=True):
        start, end, _, _ = segments[at]
        waiting = min(max(waited - (start - started), mixes[at][WAITING]), end - start)
        mixes[at] = +Counter({WAITING: waiting, MOVING: end - start - waiting})


def _names(trace: Trace, events: Iterable[int]) -> dict[int, str]:
    return {row["id"]: row["name"] for row in trace.rows(_NAMES_SQL, {"events": sorted(events)})}


def _interval(one: MixedSegment, names: dict[int, str]) -> PathInterval:
    return PathInterval(one.start, one.end, *one.label, one.mix[one.label], names.get(one.event))
