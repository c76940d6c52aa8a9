"""Lay out a graph for repeated replay: vectorise chains, and loop only over the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.nodes import DEVICE, Graph
from stepscope.model.intervals import Times


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph laid out for a loop over its nodes, from the second on; most have two edges.

    Many host nodes have one edge only. They follow their root at a distance that the rest of the replay does not
    change, and no change of a job moves such an edge, so they are computed at once.

    Attributes:
        following: int64[f], the nodes that follow others.
        edge: int64[f], the edge of each.
        hops: Positions in `following` of the nodes 1, 2, 4, ... edges before each, int64[f + 1] each; f for roots.
        place: int64[n], position of each node, or of its root, in the loop: the origin is 0.
        node: int64[k], the other nodes.
        first: int64[k], the first edge of each.
        second: int64[k], the second edge, the first again where there is none.
        several: int64[s], places of those with further edges.
        further: int64[..], those edges.
        until: int64[s], where those of each end in `further`.
    """

    following: NDArray[np.int64]
    edge: NDArray[np.int64]
    hops: list[NDArray[np.int64]]
    place: NDArray[np.int64]
    node: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    several: NDArray[np.int64]
    further: NDArray[np.int64]
    until: NDArray[np.int64]

    def distance(self, lag: Times, took: Times) -> Times:
        """Time from its root's end to each node's end, given the times of edges and nodes; int64[n]."""
        behind = np.append(lag[self.edge] + took[self.following], 0)
        for hop in self.hops:
            behind += behind[hop]
        distance = np.zeros(self.place.size, np.int64)
        distance[self.following] = behind[:-1]
        return distance


def plan(graph: Graph) -> Plan:
    """Lay out a graph."""
    low, edges = graph.first[:-1], np.diff(graph.first)
    follows = (edges == 1) & (graph.nodes.kind != DEVICE)  # a collective may wait for other ranks besides
    following, node = np.flatnonzero(follows), np.flatnonzero((edges > 0) & ~follows)
    hops, root = _hops(following, graph.on[low[following]], edges.size)
    place = np.zeros(edges.size, np.int64)
    place[node] = np.arange(1, node.size + 1)
    first, left = low[node], edges[node] - 2
    several = np.flatnonzero(left > 0)
    number = left[several]
    until = np.cumsum(number)
    further = np.arange(number.sum()) + np.repeat(first[several] + 2 - (until - number), number)
    second = np.where(left < 0, first, first + 1)
    return Plan(following, low[following], hops, place[root], node, first, second, several + 1, further, until)


def _hops(
    following: NDArray[np.int64], on: NDArray[np.int64], nodes: int
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """`Plan.hops`, and the root of each node, by pointer doubling."""
    number = np.full(nodes, following.size)
    number[following] = np.arange(following.size)
    before, hops = np.arange(nodes), []
    before[following] = on
    while ((hop := number[before[following]]) < following.size).any():
        hops.append(np.append(hop, following.size))
        before = before[before]
    return hops, before
