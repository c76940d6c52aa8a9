"""Time that a change removes from the counted steps, whether or not it makes them shorter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.changing.effects import Effects
from stepscope.analyses.stepgraph.changing.overlap import NEVER
from stepscope.analyses.stepgraph.replay import Timing
from stepscope.model.events.change import Change
from stepscope.model.intervals import Times, distinct


def removed_ns(effects: Effects, change: Change, timing: Timing) -> int:
    """Total time that nodes, edges and waits of the counted steps lose by a change, ns.

    This bounds what any chain of them can save. Time that overlaps other work counts in full.
    """
    built, nodes = effects.built, effects.built.graph.nodes
    gone: Times = np.maximum(effects.took - timing.took, 0)
    gone[effects.late.node] += effects.late.wait - timing.wait
    freed = timing.lag <= NEVER
    np.add.at(gone, effects.edge_node[~freed], np.maximum(built.graph.lag - timing.lag, 0)[~freed])
    gone += _held_back(effects, freed)
    if change.overlapped.size:
        aside = effects.device_nodes(change.overlapped)
        gone[aside] = (nodes.end - nodes.start)[aside]
    lead_up = nodes.end <= built.selection.starts[built.selection.lead]
    return int(gone[~lead_up].sum())


def _held_back(effects: Effects, freed: NDArray[np.bool_]) -> Times:
    """Time for which edges that no longer delay anything had delayed each node alone, int64[nodes]."""
    found = effects.built.graph
    nodes = found.nodes
    admitted = nodes.end[found.on] + found.lag
    otherwise = np.full(nodes.end.size, np.iinfo(np.int64).min)
    np.maximum.at(otherwise, effects.edge_node[~freed], admitted[~freed])
    held = np.zeros(nodes.end.size, np.int64)
    those = distinct(effects.edge_node[freed])
    held[those] = np.maximum(nodes.start[those] - np.maximum(otherwise[those], nodes.end[0]), 0)
    return held
