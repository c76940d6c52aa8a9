"""Communication and copies that no longer stand in the way of other device work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph import nodes as graph
from stepscope.analyses.stepgraph.nodes import Graph
from stepscope.model.intervals import Times

#: Time of an edge that holds nothing back.
NEVER = -(1 << 62)


def overlap(found: Graph, edge_node: NDArray[np.int64], nodes: NDArray[np.int64], lag: Times) -> NDArray[np.int64]:
    """Let other device work pass by these nodes: where each edge comes from then, int64[m].

    What came after one of them on its queue comes after what that came after; what waited for it by an event does not
    wait any more, and `lag` is changed so. Among themselves they keep their order, the host waits for them as it did,
    and the step ends when they have ended.
    """
    aside = np.zeros(found.nodes.end.size, np.bool_)
    aside[nodes] = True
    on: NDArray[np.int64] = np.array(found.on)
    before = np.zeros(aside.size, np.int64)
    follows = found.kind == graph.FOLLOWS
    before[edge_node[follows]] = on[follows]
    passing = aside[on] & ~aside[edge_node]
    moved = np.flatnonzero(passing & follows)
    while moved.size:
        on[moved] = before[on[moved]]
        moved = moved[aside[on[moved]]]
    lag[passing & (found.kind == graph.EVENT)] = NEVER
    return on
