"""The effect of a change on the times of nodes and edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import nodes as graph
from stepscope.analyses.stepgraph.building.build import Built
from stepscope.analyses.stepgraph.building.points import RETURN
from stepscope.analyses.stepgraph.building.spans import HostSpans
from stepscope.analyses.stepgraph.changing.overlap import NEVER, OverlapChange
from stepscope.analyses.stepgraph.changing.purposes import Purposes
from stepscope.analyses.stepgraph.lateness import MOST, Lateness, lateness
from stepscope.analyses.stepgraph.replay import Timing
from stepscope.model.categories import KERNEL_KINDS
from stepscope.model.events.change import Change, Events, Scaled
from stepscope.model.intervals import Intervals, Times, distinct
from stepscope.native.replaying import Arrivals

Factors = Sequence[tuple[Intervals, float]]

#: A thread that feeds queues of its own works as the main one does if it launches this part of the kernels or more.
_ALIKE: Final = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """Where in the graph events are found.

    Attributes:
        built: The graph.
        spans: Host events.
        took: int64[n], recorded length of each node, but for waits for other ranks.
        late: Waits for other ranks.
        edge_node: int64[m], the node that each edge leads to.
        by_event: int64[activities], activities ordered by event.
        overlap: Moves activities out of the way.
        alike: Threads that feed queues of their own as the main one does, at the same time.
    """

    built: Built
    spans: HostSpans
    took: Times
    late: Lateness
    edge_node: NDArray[np.int64]
    by_event: NDArray[np.int64]
    overlap: OverlapChange
    alike: frozenset[int] = frozenset()

    @classmethod
    def on(cls, built: Built, spans: HostSpans, purposes: Purposes) -> Effects:
        """Prepare for changes of a graph."""
        nodes = built.graph.nodes
        edge_node = np.repeat(np.arange(nodes.end.size), np.diff(built.graph.first))
        by_event = np.argsort(built.activities.event, kind="stable")
        took: Times = nodes.end - nodes.start
        took[built.device[built.peers.activity]] -= built.peers.wait
        overlap = OverlapChange(built, purposes, edge_node)
        return cls(built, spans, took, lateness(built), edge_node, by_event, overlap, _alike(built))

    def of(self, change: Change) -> Timing:
        """The timing with which the graph is to be replayed under a change."""
        on, lag = self.built.graph.on, self.built.graph.lag.copy()
        took, waited = self.took.copy(), np.zeros_like(self.took)
        waited[self.late.node] = self.late.wait
        alone = np.zeros(took.size, np.bool_)
        if change.unblocked.size:
            alone[self.device_nodes(change.unblocked)] = True
        for part in change.device:
            self._scale_device(part, lag, took, waited, alone)
        if change.host or change.time:
            self._scale_host(change, lag)
            for part in change.host:
                self._scale_batches(part, lag)
        if change.unblocked.size:
            self._unblock(change.unblocked, lag)
            waited[alone] = 0
        if change.overlapped.size:
            on = self.overlap.apply(self.activities(change.overlapped), lag)
        on = self._from_the_start(on, lag)
        most = MOST if self._longer(lag, took, waited) else 1
        wait = waited[self.late.node]
        return Timing(on, lag, took, wait, self._arrivals(wait, most))

    def _from_the_start(self, on: NDArray[np.int64], lag: Times) -> NDArray[np.int64]:
        """Sources of edges, int64[m], where nodes that nothing delays any more start with the graph."""
        first = self.built.graph.first
        some = np.flatnonzero(first[1:] > first[:-1])
        loose = some[np.maximum.reduceat(lag, first[some]) <= NEVER] if some.size else some
        if loose.size:
            on = np.array(on)
            on[first[loose]], lag[first[loose]] = 0, 0
        return on

    def _longer(self, lag: Times, took: Times, waited: Times) -> bool:
        """Whether anything takes longer than recorded. If nothing does, other ranks are not later either."""
        more = (lag > self.built.graph.lag).any() or (took > self.took).any()
        return bool(more or (waited[self.late.node] > self.late.wait).any())

    def _arrivals(self, wait: Times, most: int) -> Arrivals:
        """Arrival of other ranks where something is left of the waits for them."""
        late, left = self.late, np.flatnonzero(wait)
        size = np.diff(late.first)[left]
        first = np.concatenate(([0], np.cumsum(size)))
        edge = late.edge[np.arange(first[-1]) + np.repeat(late.first[left] - first[:-1], size)]
        lag = (late.late - (late.wait - wait))[left]
        return Arrivals(most, late.node[left], first, edge, lag, late.together[left], late.apart[left])

    def device_nodes(self, events: Events) -> NDArray[np.int64]:
        """Nodes of device activities; activities outside the graph are left out."""
        nodes: NDArray[np.int64] = self.built.device[self.activities(events)]
        return nodes

    def activities(self, events: Events) -> NDArray[np.int64]:
        """Positions in `GraphActivities` of device activities, ascending; those outside the graph are left out."""
        known = self.built.activities.event[self.by_event]
        if not known.size:
            return known
        at = np.minimum(np.searchsorted(known, events), known.size - 1)
        found = self.by_event[at[known[at] == events]]
        activities: NDArray[np.int64] = distinct(found)
        return activities

    def _scale_device(self, part: Scaled, lag: Times, took: Times, waited: Times, alone: NDArray[np.bool_]) -> None:
        """Scale device work; of a collective that waits for nobody any more, all that is left is moving data."""
        nodes = self.device_nodes(part.events)
        whole = np.rint((took[nodes] + waited[nodes]) * part.factor).astype(np.int64)
        waited[nodes] = np.where(alone[nodes], 0, np.minimum(waited[nodes], whole))
        took[nodes] = whole - waited[nodes]
        if part.factor == 0:  # what is not there needs no gap before it; what makes that a long one may remain
            gone = np.zeros(took.size, np.bool_)
            gone[nodes] = True
            follows = (self.built.graph.kind == graph.FOLLOWS) & gone[self.edge_node]
            lag[follows] -= np.clip(lag[follows], 0, self.built.delays.gap)

    def _scale_host(self, change: Change, lag: Times) -> None:
        """Scale the host's work between its points."""
        edges = np.flatnonzero(self.built.graph.kind == graph.GOES_ON)
        starts = self.built.graph.nodes.end[self.built.graph.on[edges]]
        lag[edges] = self.host_time(change, self.edge_node[edges], starts, starts + lag[edges])

    def host_time(self, change: Change, node: NDArray[np.int64], starts: Times, ends: Times) -> Times:
        """What stretches of the host's recorded time, each before a point of a thread, take under a change.

        Args:
            change: The change.
            node: int64[k], the node of the point that each stretch leads to.
            starts: int64[k].
            ends: int64[k].
        """
        took: Times = ends - starts
        track = self.built.points.track[self.built.graph.nodes.item[node]]
        woven = np.isin(track, list(self.built.threads.woven))
        line = np.where(woven, self.built.threads.main, track)
        for thread in np.unique(line).tolist():
            together = self.built.threads.woven if thread == self.built.threads.main else {thread}
            mine = line == thread
            factors = [(self.spans.on_threads(part.events, together), part.factor) for part in change.host]
            if thread == self.built.threads.main or thread in self.alike:
                factors += [(Intervals.union_of(part.starts, part.ends), part.factor) for part in change.time]
            took[mine] = scaled(starts[mine], ends[mine], factors)
        return took

    def _scale_batches(self, part: Scaled, lag: Times) -> None:
        """Scale the workers' time per batch; factor 0 delivers at once."""
        batches, calls = self.built.batches, self.built.calls
        mine = np.isin(calls.id[batches.call], part.events)
        if not mine.any():
            return
        kind, item = self.built.graph.kind, self.built.graph.nodes.item[self.edge_node]
        arrives = np.flatnonzero(kind == graph.ARRIVES)
        batch = self.built.graph.nodes.item[self.built.graph.on[arrives]]
        arrives = arrives[mine[batch]]
        lag[arrives] = np.rint(lag[arrives] * part.factor).astype(np.int64) if part.factor else NEVER
        of_batch = self.built.graph.nodes.kind[self.edge_node] == graph.BATCH
        paced = np.flatnonzero(of_batch & np.isin(kind, (graph.NEXT_BATCH, graph.STARTS)))
        paced = paced[mine[item[paced]]]
        lag[paced] = np.rint(lag[paced] * part.factor).astype(np.int64)

    def _unblock(self, events: Events, lag: Times) -> None:
        nodes, points = self.built.graph.nodes, self.built.points
        returns = np.flatnonzero((points.kind == RETURN) & np.isin(nodes.event[self.built.host], events))
        free = np.zeros(nodes.end.size, np.bool_)
        free[self.built.host[returns]] = True
        held = np.isin(self.built.graph.kind, (graph.WAITS, graph.ROOM))
        lag[held & free[self.edge_node]] = NEVER


def _alike(built: Built) -> frozenset[int]:
    """Threads that take no turns with the main one, and launch many kernels on queues that no other thread feeds."""
    work = built.activities
    mine = (work.kind == KERNEL_KINDS.index("compute")) & (work.thread >= 0)
    thread, queue = work.thread[mine], work.track[mine]
    if np.isin(thread, list(built.threads.woven)).sum() < _ALIKE * thread.size:
        return frozenset()
    found = set()
    for one in np.unique(thread).tolist():
        own = thread == one
        if one in built.threads.woven or np.count_nonzero(own) < _ALIKE * own.size:
            continue
        if not np.isin(queue[own], queue[~own]).any():
            found.add(one)
    return frozenset(found)


def scaled(starts: Times, ends: Times, factors: Factors) -> Times:
    """Length of each stretch, int64[n], where each instant counts by the product of the factors that cover it."""
    length: Times = ends - starts
    if not factors or not length.size:
        return length
    lo, hi = int(starts.min()), int(ends.max())
    factors = [(covered.clip(lo, hi), factor) for covered, factor in factors]
    cuts = distinct(np.concatenate([edge for covered, _ in factors for edge in (covered.starts, covered.ends)]))
    if cuts.size < 2:
        return length
    weight: NDArray[np.float64] = np.ones(cuts.size - 1)
    for covered, factor in factors:
        weight[covered.at(cuts[:-1])] *= factor
    # What is gained or lost before each cut; outside the cuts time runs as it did.
    lost = np.concatenate(([0.0], np.cumsum((weight - 1.0) * np.diff(cuts))))
    change = np.interp(ends - lo, cuts - lo, lost) - np.interp(starts - lo, cuts - lo, lost)
    return np.maximum(length + np.rint(change).astype(np.int64), 0)
