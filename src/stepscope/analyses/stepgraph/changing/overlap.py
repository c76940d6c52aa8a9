"""Let communication and copies overlap fully with other device work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import nodes as graph
from stepscope.analyses.stepgraph.building.build import Built
from stepscope.analyses.stepgraph.building.events import EVENT_NS
from stepscope.analyses.stepgraph.changing.purposes import Purposes
from stepscope.model.intervals import Times

#: A bucket of gradients that links still move at about their rate.
_BUCKET = 4 << 20
#: Time of an edge that holds nothing back.
NEVER = -(1 << 62)


@dataclass(frozen=True, slots=True, eq=False)
class OverlapChange:
    """Edges of the graph after activities have been moved to a queue of their own.

    Attributes:
        built: The graph.
        purposes: What its activities are for.
        edge_node: int64[m], the node that each edge leads to.
    """

    built: Built
    purposes: Purposes
    edge_node: NDArray[np.int64]

    def apply(self, activities: NDArray[np.int64], lag: Times) -> NDArray[np.int64]:
        """Move activities off their queues: the new source of each edge, int64[m]; `lag` is changed accordingly.

        What followed a moved activity on its queue follows its predecessor instead, and work that waited for it by an
        event no longer does, except that work after the backward pass still waits for reduced gradients. Moved
        activities keep their order among themselves, the host still waits for them, and the step ends after them. They
        start as soon as their data are ready, see `_ready`.
        """
        found = self.built.graph
        aside = np.zeros(found.nodes.end.size, np.bool_)
        aside[self.built.device[activities]] = True
        on = np.array(found.on)
        before = np.zeros(aside.size, np.int64)
        follows = found.kind == graph.FOLLOWS
        before[self.edge_node[follows]] = on[follows]
        passing = aside[on] & ~aside[self.edge_node] & ~self._needed()
        moved = np.flatnonzero(passing & follows)
        while moved.size:
            on[moved] = before[on[moved]]
            moved = moved[aside[on[moved]]]
        lag[passing & (found.kind == graph.EVENT)] = NEVER
        self._start_early(activities, on, lag)
        return on

    def _needed(self) -> NDArray[np.bool_]:
        """Edges from a gradient reduction to what comes after the backward pass of its step, bool[m]."""
        built, nodes = self.built, self.built.graph.nodes
        steps, step = np.unique(built.activities.step, return_inverse=True)
        last = np.full(steps.size, np.iinfo(np.int64).max)
        backward = np.flatnonzero(self.purposes.backward)
        last[step[backward]] = -1
        np.maximum.at(last, step[backward], built.device[backward])
        between = (nodes.kind[built.graph.on] == graph.DEVICE) & (nodes.kind[self.edge_node] == graph.DEVICE)
        edges = np.flatnonzero(between)
        source = nodes.item[built.graph.on[edges]]
        awaited = self.purposes.reducing[source] & (self.edge_node[edges] > last[step[source]])
        needed = np.zeros(between.size, np.bool_)
        needed[edges[awaited]] = True
        return needed

    def _start_early(self, activities: NDArray[np.int64], on: NDArray[np.int64], lag: Times) -> None:
        """Let these activities start when their data are ready, instead of when they were launched."""
        ready = self._ready(activities)
        nodes = self.built.device[activities[ready >= 0]]
        source = np.full(self.built.graph.nodes.end.size, -1)
        source[nodes] = self.built.device[ready[ready >= 0]]
        kind = self.built.graph.kind
        admitting = np.isin(kind, (graph.LAUNCHES, graph.EVENT, graph.STARTS))
        edges = np.flatnonzero((source[self.edge_node] >= 0) & admitting)
        lag[edges] = NEVER
        # One of them, the launch where it is recorded, now comes from there.
        edges = edges[np.lexsort((kind[edges] != graph.LAUNCHES, self.edge_node[edges]))]
        one = edges[np.append(True, np.diff(self.edge_node[edges]) > 0)[: edges.size]]
        on[one] = source[self.edge_node[one]]
        lag[one] = EVENT_NS

    def _ready(self, activities: NDArray[np.int64]) -> NDArray[np.int64]:
        """The activity after which the data of each one are ready, int64; -1 where it stays as recorded.

        Gradients become ready during the backward pass: a reduction that started only after it could have started when
        the share of the backward pass that is done, by time, equals the share of the step's reductions up to this one,
        by size. The only reduction of a step could have been divided into buckets.
        """
        a, purposes = self.built.activities, self.purposes
        ready = np.full(activities.size, -1)
        reductions = np.flatnonzero(purposes.reducing[activities])
        for step in np.unique(a.step[activities[reductions]]).tolist():
            backward = np.flatnonzero(purposes.backward & (a.step == step))
            mine = reductions[a.step[activities[reductions]] == step]
            if step < 0 or not backward.size:
                continue
            which = activities[mine]
            late = a.ts[which] >= a.end[backward[-1]]
            size = np.maximum(purposes.bytes[which], 1).astype(np.float64)
            share = np.cumsum(size) / size.sum()
            done = np.cumsum(a.end[backward] - a.ts[backward])
            needed = share * done[-1]
            if which.size == 1:
                # One for all gradients can be divided: its last bucket alone needs the last of them.
                buckets = max(int(size[0]) // _BUCKET, 1)
                rest = (a.end[which] - a.ts[which]) * (1 - 1 / buckets)
                needed = np.maximum(needed - rest, done[-1] / buckets)
            at = np.minimum(np.searchsorted(done, needed - 0.5), backward.size - 1)
            ready[mine[late]] = backward[at[late]]
        return ready
