"""Replay a graph: every node starts as soon as all that it depends on allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.nodes import Graph
from stepscope.model.intervals import Times
from stepscope.native import replaying
from stepscope.native.replaying import Arrivals


@dataclass(frozen=True, slots=True)
class Timing:
    """Sources and times of a graph to be replayed.

    Attributes:
        on: int64[m], node that each edge comes from; always before the one that it leads to.
        lag: int64[m], time of each edge.
        took: int64[n], how long each node takes.
        wait: int64[k], what is left of the waits for other ranks of `Lateness`.
        arrivals: When these come, where there is a wait.
    """

    on: NDArray[np.int64]
    lag: Times
    took: Times
    wait: Times
    arrivals: Arrivals


def replay(graph: Graph, times: Timing) -> Times:
    """End of each node, int64[n]; that of node 0 is as recorded."""
    origin = int(graph.nodes.end[0])
    return replaying.replay(origin, graph.first, times.on, times.lag, times.took, times.arrivals)
