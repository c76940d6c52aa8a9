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
    """A graph laid out for a loop over its nodes, from the second on.

    Attributes:
        edge: int64[n - 1], one edge of each.
        several: int64[k], nodes with further edges.
        further: Those edges, a range for each of `several`.
    """

    edge: NDArray[np.int64]
    several: NDArray[np.int64]
    further: list[tuple[int, int]]


def plan(graph: Graph) -> Plan:
    """Lay out a graph."""
    first, last = graph.first[1:-1], graph.first[2:]
    several = np.flatnonzero(last - first > 1)
    further = list(zip((first[several] + 1).tolist(), last[several].tolist(), strict=True))
    return Plan(first, several, further)


def _arrival(ends: list[int], part: More, lag: int, together: int, apart: int) -> int:
    """When the last of the other ranks comes to a collective."""
    ready = max([ends[before] + wait for before, wait in part])
    if not apart:
        return ready + lag
    return ready + min(lag * max(ready - ends[together], 0) // apart, MOST * lag)


def replay(origin: int, plan: Plan, times: Timing) -> Times:
    """When each node ends, int64[n], if node 0 ends at `origin`."""
    more: list[More | None] = [None] * plan.edge.size
    on, lags = times.on.tolist(), times.lag.tolist()
    late = times.late
    for node in late:
        more[node - 1] = ()
    for node, (low, high) in zip(plan.several.tolist(), plan.further, strict=True):
        more[node] = tuple(zip(on[low:high], lags[low:high], strict=True))
    ends = [origin]
    add = ends.append
    for before, wait, others, own in zip(
        times.on[plan.edge].tolist(), times.lag[plan.edge].tolist(), more, times.took[1:].tolist(), strict=True
    ):
        start = ends[before] + wait
        if others is not None:
            for other, least in others:
                if ends[other] + least > start:
                    start = ends[other] + least
            others_late = late.get(len(ends))
            if others_late is not None:
                start = max(start, _arrival(ends, *others_late))
        add(start + own)
    return np.array(ends, np.int64)
