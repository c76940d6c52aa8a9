"""Replay a graph (`source/replay.c`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When others come to k nodes of a graph, which wait for them.

    Attributes:
        most: How many times a lag may grow.
        node: int64[k], the nodes, ascending.
        first: int64[k + 1], where those edges of each start that tell when its own part is ready.
        edge: int64[..], these edges; at least one for each node.
        lag: int64[k], how much later the others come, not negative.
        together: int64[k], the node at whose end all were last together.
        apart: int64[k], below 2^62, the time between both for which the lag holds: it grows and shrinks in proportion.
            0 where it stays as it is.
    """

    most: int
    node: NDArray[np.int64]
    first: NDArray[np.int64]
    edge: NDArray[np.int64]
    lag: NDArray[np.int64]
    together: NDArray[np.int64]
    apart: NDArray[np.int64]


def replay(
    origin: int,
    first: NDArray[np.int64],
    on: NDArray[np.int64],
    lag: NDArray[np.int64],
    took: NDArray[np.int64],
    arrivals: Arrivals,
) -> NDArray[np.int64]:
    """End of each node, int64[n], which starts as soon as all edges and arrivals allow.

    Args:
        origin: End of nodes without edges, of which node 0 is one.
        first: int64[n + 1], where the edges of each node begin.
        on: int64[m], the node that each edge comes from; always before the one that it leads to.
        lag: int64[m], time of each edge.
        took: int64[n], how long each node takes.
        arrivals: When others come.
    """
    a, n = arrivals, took.size
    with borrowed() as instance:
        put = instance.put
        end = put(np.full(n, origin, np.int64))
        given = (first, on, lag, took, np.append(a.node, n), a.first, a.edge, a.lag, a.together, a.apart)
        instance.call("replay", n, *map(put, given), a.most, end)
        found: NDArray[np.int64] = end.array.copy()
        return found
