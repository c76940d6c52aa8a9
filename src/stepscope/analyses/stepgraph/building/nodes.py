"""The graph: nodes in topological order, and the edges between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times

Index = NDArray[np.int64]

#: Nodes: the start of everything, a device activity, a point of a host thread, a batch that the workers have made.
ORIGIN, DEVICE, HOST, BATCH = range(4)
#: Edges: a host thread goes on; launch to activity; queue order; event; host waits for device; launch waits for room
#: in its queue; batch to host; batch to batch; thread to thread; from the start of everything.
GOES_ON, LAUNCHES, FOLLOWS, EVENT, WAITS, ROOM, ARRIVES, NEXT_BATCH, HANDS, STARTS = range(10)
#: In place of an edge's kind: no edge, the node itself.
NODE = 10


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges as they are found: m of them, in any order.

    Attributes:
        node: int64[m], what depends.
        on: int64[m], what it depends on.
        usual: int64[m], the least time in between, as far as it is known.
        kind: int8[m].
    """

    node: Index
    on: Index
    usual: Times
    kind: NDArray[np.int8]

    @classmethod
    def of(cls, kind: int, node: Index, on: Index, usual: Times | int) -> Edges:
        """Edges of one kind."""
        times = np.broadcast_to(np.asarray(usual, np.int64), node.shape)
        return cls(node.astype(np.int64), on.astype(np.int64), times, np.full(node.size, kind, np.int8))

    @classmethod
    def all(cls, parts: list[Edges]) -> Edges:
        """Edges of several kinds."""
        columns = ([getattr(part, name) for part in parts] for name in ("node", "on", "usual", "kind"))
        return cls(*(np.concatenate(column) for column in columns))


@dataclass(frozen=True, slots=True)
class Nodes:
    """The n nodes, in order. Node 0 is the origin.

    Attributes:
        kind: int8[n].
        start: int64[n], when it starts: a device activity's start, else its end.
        end: int64[n].
        event: int64[n], the device activity's or the call's event; -1 if there is none.
        item: int64[n], position among what it was made of: activities, points or batches.
    """

    kind: NDArray[np.int8]
    start: Times
    end: Times
    event: Index
    item: Index


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and their incoming edges.

    A node starts when the last of its edges' sources has ended and that edge's time has passed.

    Attributes:
        nodes: The nodes.
        first: int64[n + 1], where each node's edges begin; the first edge of each is the one that was decisive.
        on: int64[m].
        lag: int64[m], time of the edge. That of the decisive one is as recorded, so that the replay is exact.
        kind: int8[m].
    """

    nodes: Nodes
    first: Index
    on: Index
    lag: Times
    kind: NDArray[np.int8]


def order_nodes(parts: list[Nodes], keys: list[Times]) -> tuple[Nodes, list[Index]]:
    """Nodes sorted by key, and the new positions of each part's nodes.

    The key is a node's end, or a little later where the clock of what it depends on is ahead. Equal keys keep the order
    of parts, and within a part its own order.
    """
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("kind", "start", "end", "event", "item")
    }
    part = np.repeat(np.arange(len(parts)), [each.end.size for each in parts])
    order = np.lexsort((part, np.concatenate(keys)))
    where = np.empty(order.size, np.int64)
    where[order] = np.arange(order.size)
    places = np.split(where, np.cumsum([each.end.size for each in parts])[:-1])
    return Nodes(**{name: column[order] for name, column in columns.items()}), places


def connect(nodes: Nodes, edges: Edges) -> Graph:
    """Fix the time of each edge so that every node starts exactly when it did.

    An edge takes its usual time, or less where the recording shows less. The edge that admits the node last is decisive
    and takes the remaining delay. Edges against time are dropped, and nodes without edges start at their recorded time.
    """
    forward = edges.on < edges.node
    node, on, usual, kind = edges.node[forward], edges.on[forward], edges.usual[forward], edges.kind[forward]
    free = np.ones(nodes.end.size, np.bool_)
    free[node] = False
    free[0] = False
    loose = np.flatnonzero(free)
    node, on = np.concatenate((node, loose)), np.concatenate((on, np.zeros_like(loose)))
    slack = nodes.start[node] - nodes.end[on]
    usual = np.concatenate((usual, slack[usual.size :]))
    kind = np.concatenate((kind, np.full(loose.size, STARTS, np.int8)))
    lag = np.minimum(usual, slack)
    order = np.lexsort((kind, -(nodes.end[on] + lag), node))
    node, on, kind, lag, slack = node[order], on[order], kind[order], lag[order], slack[order]
    first = np.searchsorted(node, np.arange(nodes.end.size + 1))
    decisive = first[:-1][first[:-1] < first[1:]]
    lag[decisive] = slack[decisive]
    return Graph(nodes, first, on, lag, kind)
