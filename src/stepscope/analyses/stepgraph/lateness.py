"""When other ranks arrive at a collective, estimated from one rank.

All ranks run the same program. Others arrive after this rank's part is ready by a lag that built up since all ranks
were last together, that is since this rank last used the result of a collective. If a change shortens this rank's time
since then, the lag shrinks in proportion.

A collective behind another one in its queue was delayed by it on all ranks: only the lag beyond its turn counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import device_activities
from stepscope.analyses.stepgraph.building import nodes as graph
from stepscope.analyses.stepgraph.building.build import Built
from stepscope.model.intervals import Times

#: Lags grow at most so many times; beyond that the time they are measured against was too short to tell.
MOST = 4
#: A lag so many times as long as that time was not gathered in it: ranks that do the same do not take twice as long for
#: it. Such a lag has a cause of its own, and does not change.
_UNRELATED = 1


@dataclass(frozen=True, slots=True)
class Lateness:
    """The m collectives of the graph that waited for other ranks.

    Attributes:
        node: int64[m], ascending.
        wait: int64[m], how long each waited.
        late: int64[m], how much later the others came than this rank had its part ready.
        together: int64[m], node of the collective whose result this rank last went on with; 0 if there is none.
        apart: int64[m], time from there until its part was ready; 0 where the lag has nothing to do with it.
        first: int64[m + 1], where the edges begin that tell when its part was ready.
        edge: int64[k], these edges, positions in the graph's.
    """

    node: NDArray[np.int64]
    wait: Times
    late: Times
    together: NDArray[np.int64]
    apart: Times
    first: NDArray[np.int64]
    edge: NDArray[np.int64]


def lateness(built: Built) -> Lateness:
    """Estimate how late other ranks arrive."""
    found = built.graph
    order = np.argsort(built.device[built.peers.activity])
    activity, wait = built.peers.activity[order], built.peers.wait[order]
    node = built.device[activity]
    low, high = found.first[node], found.first[node + 1]
    first = np.concatenate(([0], np.cumsum(high - low)))
    edge = np.arange(first[-1]) - np.repeat(first[:-1] - low, high - low)
    before = found.nodes.item[found.on[edge]]
    queued = (found.kind[edge] == graph.FOLLOWS) & (found.nodes.kind[found.on[edge]] == graph.DEVICE)
    own = ~queued
    own[queued] = built.activities.kind[before[queued]] != device_activities.COMM
    admitted = found.nodes.end[found.on[edge]] + found.lag[edge]
    if edge.size:
        part = np.maximum.reduceat(np.where(own, admitted, np.iinfo(np.int64).min), first[:-1])
        own |= admitted > np.repeat(part, high - low)  # its turn in the queue came later than its part was ready
    first = np.concatenate(([0], np.cumsum(own)))[first]
    edge, admitted = edge[own], admitted[own]
    ready = np.maximum.reduceat(admitted, first[:-1]) if edge.size else admitted
    late = found.nodes.start[node] + wait - ready
    together = _last_together(built, activity)
    apart = np.maximum(ready - found.nodes.end[together], 0)
    apart[late > _UNRELATED * apart] = 0
    return Lateness(node, wait, late, together, apart, first, edge)


def _last_together(built: Built, activity: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each collective, the node of the last earlier one whose result was used before it was launched."""
    found, a = built.graph, built.activities
    target = np.repeat(np.arange(found.nodes.end.size), np.diff(found.first))
    kinds = found.nodes.kind
    used = (kinds[target] == graph.DEVICE) & (kinds[found.on] == graph.DEVICE)
    source, user = found.nodes.item[found.on[used]], found.nodes.item[target[used]]
    results = (a.kind[source] == device_activities.COMM) & (a.kind[user] != device_activities.COMM)
    source, user = source[results], user[results]
    order = np.argsort(a.called[user], kind="stable")
    latest = np.maximum.accumulate(built.device[source[order]]) if order.size else order
    at = np.searchsorted(a.called[user[order]], a.called[activity], side="left") - 1
    together = np.zeros(activity.size, np.int64)
    together[at >= 0] = latest[at[at >= 0]]
    return together
