"""Run a graph: when each node ends, if each starts as soon as all that it depends on allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        waits: By node, what it takes beyond that for waiting for other ranks: the node since which they have been at
            work like this rank, how long that took in the recording, and how long the wait was then. It changes in
            proportion. If the former is 0 it does not change.
    """

    on: NDArray[np.int64]
    lag: Times
    took: Times
    waits: Mapping[int, tuple[int, int, int]]


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


def replay(origin: int, plan: Plan, times: Timing) -> Times:
    """When each node ends, int64[n], if node 0 ends at `origin`."""
    more: list[More | None] = [None] * plan.edge.size
    on, lags = times.on.tolist(), times.lag.tolist()
    for node in times.waits:
        more[node - 1] = ()
    for node, (low, high) in zip(plan.several.tolist(), plan.further, strict=True):
        more[node] = tuple(zip(on[low:high], lags[low:high], strict=True))
    waits = times.waits
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
            waiting = waits.get(len(ends))
            if waiting is not None:
                since, worked, wait = waiting
                own += wait * max(start - ends[since], 0) // worked if worked else wait
        add(start + own)
    return np.array(ends, np.int64)
