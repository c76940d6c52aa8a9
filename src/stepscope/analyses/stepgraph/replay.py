"""Run a graph: when each node ends, if each starts as soon as all that it depends on allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.lateness import MOST
from stepscope.analyses.stepgraph.nodes import Graph
from stepscope.model.intervals import Times

More = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """What a graph is replayed with.

    Attributes:
        on: int64[m], node that each edge comes from; always before the one that it leads to.
        lag: int64[m], time of each edge.
        took: int64[n], how long each node takes.
        late: By node of a collective, when other ranks come to it, as in `Lateness`: the edges that tell when this
            rank's part is ready (node and time), the lag of the others, the node at which all were last together, and
            the time since then in the recording.
    """

    on: NDArray[np.int64]
    lag: Times
    took: Times
    late: Mapping[int, tuple[More, int, int, int]]


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph laid out for a loop over its nodes, from the second on: most have one edge or two.

    Attributes:
        first: int64[n - 1], the first edge of each.
        second: int64[n - 1], the second edge, the first again where there is none.
        several: int64[k], nodes with further edges.
        further: Those edges, a range for each of `several`.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    several: NDArray[np.int64]
    further: list[tuple[int, int]]


def plan(graph: Graph) -> Plan:
    """Lay out a graph."""
    first, last = graph.first[1:-1], graph.first[2:]
    several = np.flatnonzero(last - first > 2)
    further = list(zip((first[several] + 2).tolist(), last[several].tolist(), strict=True))
    return Plan(first, np.minimum(first + 1, last - 1), several + 1, further)


def _arrival(ends: list[int], part: More, lag: int, together: int, apart: int) -> int:
    """When the last of the other ranks comes to a collective."""
    ready = max([ends[before] + wait for before, wait in part])
    if not apart:
        return ready + lag
    return ready + min(lag * max(ready - ends[together], 0) // apart, MOST * lag)


def replay(origin: int, plan: Plan, times: Timing) -> Times:
    """When each node ends, int64[n], if node 0 ends at `origin`."""
    rest = _rest(plan, times)
    late, ends = times.late, [origin]
    add = ends.append
    for one, wait, other, least, more, own in zip(
        times.on[plan.first].tolist(),
        times.lag[plan.first].tolist(),
        times.on[plan.second].tolist(),
        times.lag[plan.second].tolist(),
        rest,
        times.took[1:].tolist(),
        strict=True,
    ):
        start = ends[one] + wait
        since = ends[other] + least
        if since > start:
            start = since
        if more is not None:
            for before, lag in more:
                if ends[before] + lag > start:
                    start = ends[before] + lag
            if len(ends) in late:
                start = max(start, _arrival(ends, *late[len(ends)]))
        add(start + own)
    return np.array(ends, np.int64)


def _rest(plan: Plan, times: Timing) -> list[More | None]:
    """What the nodes depend on besides two edges; None for those that depend on nothing else."""
    rest: list[More | None] = [None] * plan.first.size
    for node in times.late:
        rest[node - 1] = ()
    for node, (low, high) in zip(plan.several.tolist(), plan.further, strict=True):
        rest[node - 1] = tuple(zip(times.on[low:high].tolist(), times.lag[low:high].tolist(), strict=True))
    return rest
