"""Build the step graph: nodes of host points, device activities and batches, and the edges between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import host_calls
from stepscope.analyses.stepgraph.building import nodes as graph
from stepscope.analyses.stepgraph.building.coinciding import unexplained_waits
from stepscope.analyses.stepgraph.building.delays import Delays, usual_delays
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities, read_activities
from stepscope.analyses.stepgraph.building.events import EVENT_NS, event_waits
from stepscope.analyses.stepgraph.building.handovers import Handovers, read_handovers
from stepscope.analyses.stepgraph.building.host_calls import GraphCalls, cut_at_steps, launched_before_waits, read_calls
from stepscope.analyses.stepgraph.building.loader import Batches, awaited_batches
from stepscope.analyses.stepgraph.building.nodes import Edges, Graph, Nodes
from stepscope.analyses.stepgraph.building.peers import Peers, waits_for_peers
from stepscope.analyses.stepgraph.building.points import (
    DONE,
    EMPTIED,
    PUT,
    RETURN,
    TAKEN,
    Points,
    activity_points,
    host_points,
)
from stepscope.analyses.stepgraph.building.queues import QueueActivities, full_queues, predecessors, split_queues
from stepscope.analyses.stepgraph.building.selection import GraphSteps, select_steps
from stepscope.analyses.stepgraph.building.spanned import spanned_gaps
from stepscope.analyses.stepgraph.building.threads import Threads, read_threads
from stepscope.analyses.stepgraph.building.waits import CallWaits, find_waits, launching_kernels
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_LATER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Built:
    """The graph, and what it was made of.

    Attributes:
        selection: The steps.
        threads: The host threads.
        activities: The device activities.
        calls: The host calls.
        points: The points of the host threads.
        batches: The batches that were waited for.
        peers: The collectives that waited for other ranks.
        graph: Nodes and edges.
        device: int64[activities], their nodes.
        host: int64[points], their nodes.
        delays: Usual delays of the device.
    """

    selection: GraphSteps
    threads: Threads
    activities: GraphActivities
    calls: GraphCalls
    points: Points
    batches: Batches
    peers: Peers
    graph: Graph
    device: NDArray[np.int64]
    host: NDArray[np.int64]
    delays: Delays


def build(trace: Trace) -> Built:
    """Build the graph of the trace of one rank.

    Raises:
        MissingInputError: The recording has neither device work nor host steps.
    """
    selection = select_steps(trace)
    lo, hi = int(selection.starts[0]), int(selection.ends[-1])
    activities = read_activities(trace, selection)
    calls = read_calls(trace, selection, activities)
    activities = launched_before_waits(activities, calls)
    queues = split_queues(activities)
    handovers = read_handovers(trace, selection, calls)
    threads = read_threads(trace, selection, set(handovers.taker.tolist()))
    if threads.main < 0 and not activities.ts.size:
        raise MissingInputError(
            "the recording has neither device work nor host steps", hint="record the host, or the device, or both"
        )
    calls = cut_at_steps(calls, selection, threads.main)
    waits = find_waits(activities, queues, calls)
    batches = awaited_batches(trace, calls, lo, hi)
    points = host_points(selection, threads, calls, _issued(activities, calls, waits), handovers)
    parts = [
        _origin(lo),
        _device_nodes(activities, lo),
        _batch_nodes(batches),
        _host_nodes(points, calls),
    ]
    keys = [*(part.end for part in parts[:-1]), _host_keys(points, waits, activities)]
    nodes, (_, device, batch, host) = graph.order_nodes(parts, keys)
    facts = _Facts(activities, queues, calls, waits, points, batches, handovers)
    edges, delays = _edges(facts, _Where(device, batch, host))
    peers = waits_for_peers(trace, activities)
    found = graph.connect(nodes, edges)
    return Built(selection, threads, activities, calls, points, batches, peers, found, device, host, delays)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What edges are made of."""

    activities: GraphActivities
    queues: list[QueueActivities]
    calls: GraphCalls
    waits: CallWaits
    points: Points
    batches: Batches
    handovers: Handovers


@dataclass(frozen=True, slots=True)
class _Where:
    """Nodes of activities, batches and points."""

    device: NDArray[np.int64]
    batch: NDArray[np.int64]
    host: NDArray[np.int64]


def _issued(activities: GraphActivities, calls: GraphCalls, waits: CallWaits) -> Times:
    """When each call had launched its work, if that was before it returned; int64[calls], else -1."""
    earliest = np.full(calls.id.size, _LATER)
    call = calls.find(activities.launch)
    known = np.flatnonzero((call >= 0) & (activities.ts >= activities.called))
    done = activities.end[known] <= calls.end[call[known]]
    awaited = np.zeros(activities.ts.size, np.bool_)
    awaited[waits.activity[activities.launch[waits.activity] == calls.id[waits.call]]] = True
    inside = known[done | awaited[known]]
    np.minimum.at(earliest, call[inside], activities.ts[inside])
    usual = _usual_launch(calls, launching_kernels(activities, calls) & (earliest == _LATER))
    return np.where(earliest < _LATER, np.minimum(calls.ts + usual, earliest), -1)


def _usual_launch(calls: GraphCalls, plain: NDArray[np.bool_]) -> int:
    """Usual duration of a call that launches a kernel and does not wait for it, ns."""
    took = (calls.end - calls.ts)[plain]
    return int(np.median(took)) if took.size else 2_000


def _origin(lo: int) -> Nodes:
    one = np.array([lo], np.int64)
    return Nodes(np.full(1, graph.ORIGIN, np.int8), one, one, np.full(1, -1), np.zeros(1, np.int64))


def _device_nodes(activities: GraphActivities, lo: int) -> Nodes:
    kind = np.full(activities.ts.size, graph.DEVICE, np.int8)
    # What still runs when the first step begins has only the rest of its time to go.
    return Nodes(kind, np.maximum(activities.ts, lo), activities.end, activities.event, np.arange(activities.ts.size))


def _batch_nodes(batches: Batches) -> Nodes:
    number = batches.ready.size
    kind = np.full(number, graph.BATCH, np.int8)
    return Nodes(kind, batches.ready, batches.ready, np.full(number, -1), np.arange(number))


def _host_nodes(points: Points, calls: GraphCalls) -> Nodes:
    kind = np.full(points.at.size, graph.HOST, np.int8)
    event = np.full(points.at.size, -1)
    event[points.call >= 0] = calls.id[points.call[points.call >= 0]]
    return Nodes(kind, points.at, points.at, event, np.arange(points.at.size))


def _edges(facts: _Facts, where: _Where) -> tuple[Edges, Delays]:
    activities, queues, calls, waits = facts.activities, facts.queues, facts.calls, facts.waits
    points, batches, handovers = facts.points, facts.batches, facts.handovers
    before = predecessors(activities, queues)
    launched_at = activity_points(points, calls, activities)
    launched = np.where(launched_at >= 0, points.at[launched_at], -1) if points.at.size else launched_at
    target, source = event_waits(activities, queues, calls)
    delays = usual_delays(activities, before, launched, target)
    return_of = _returns(points, calls.id.size)
    call_of = calls.find(activities.launch)
    known = np.flatnonzero(call_of >= 0)
    call_end, call_ns = np.full(call_of.size, -1), np.zeros(call_of.size, np.int64)
    call_end[known] = calls.end[call_of[known]]
    call_ns[known] = call_end[known] - calls.ts[call_of[known]]
    full = full_queues(activities, queues, call_end, call_ns)
    own = _own_times(calls, waits, full.call[full.blocked])
    loaded = np.full(calls.id.size, -1)
    loaded[batches.call] = batches.own
    own = np.where(loaded >= 0, loaded, own)

    follows = np.flatnonzero(before >= 0)
    together = activities.in_graph[follows] & (activities.launch[follows] == activities.launch[before[follows]])
    gap = np.where(together, delays.graph_gap, delays.gap)
    first_of_launch = np.ones(activities.ts.size, np.bool_)
    first_of_launch[follows[together]] = False
    starts = np.flatnonzero((launched_at >= 0) & first_of_launch & (activities.ts >= activities.called))
    ready = np.where(before >= 0, activities.end[before] + delays.gap, 0)
    ready[starts] = np.maximum(ready[starts], launched[starts] + delays.latency)
    np.maximum.at(ready, target, activities.end[source] + EVENT_NS)
    spanned = spanned_gaps(activities, before, launched_at >= 0, delays.gap)
    np.maximum.at(ready, spanned.target, activities.ts[spanned.target])  # these are explained
    guessed = unexplained_waits(activities, ready, delays)
    rest = np.zeros(activities.ts.size, np.int64)
    rest[spanned.target] = spanned.rest
    gap = np.maximum(gap, rest[follows])  # what the host took after that, it would take anyway
    parts = [
        _host_order(points, own, handovers, where.host),
        Edges.of(graph.FOLLOWS, where.device[follows], where.device[before[follows]], gap),
        Edges.of(graph.LAUNCHES, where.device[starts], where.host[launched_at[starts]], delays.latency),
        Edges.of(
            graph.EVENT,
            where.device[np.concatenate((target, guessed[0], spanned.target))],
            where.device[np.concatenate((source, guessed[1], spanned.source))],
            EVENT_NS,
        ),
        _wait_edges(waits, return_of, where),
        _room_edges(calls, full.call, full.room, return_of, where),
        Edges.of(graph.ARRIVES, where.host[return_of[batches.call]], where.batch, batches.own),
        Edges.of(graph.NEXT_BATCH, where.batch[1:], where.batch[:-1], np.diff(batches.ready)),
        _hand_edges(points, handovers, where.host),
    ]
    return Edges.all(parts), delays


def _returns(points: Points, calls: int) -> NDArray[np.int64]:
    """The point at which each call ends, int64[calls], -1 for those that have none."""
    return_of = np.full(calls, -1)
    returns = np.flatnonzero((points.kind == RETURN) & (points.call >= 0))
    return_of[points.call[returns]] = returns
    return return_of


def _host_keys(points: Points, waits: CallWaits, activities: GraphActivities) -> Times:
    """Keys of points, ascending: a call's end, or the end of what it waited for if the device's clock is ahead."""
    keys: Times = np.array(points.at)
    point = _returns(points, waits.own.size)[waits.call]
    np.maximum.at(keys, point, activities.end[waits.activity])
    for track in np.unique(points.track).tolist():
        mine = points.track == track
        keys[mine] = np.maximum.accumulate(keys[mine])
    return keys


def _own_times(calls: GraphCalls, waits: CallWaits, blocked: NDArray[np.int64]) -> Times:
    """Time that each call takes by itself, without what it waits for."""
    own: Times = np.array(waits.own)
    held = np.isin(calls.id, blocked)
    if held.any():
        free = own[(calls.role == host_calls.LAUNCH) & ~held]
        own[held] = np.minimum(own[held], int(np.median(free)) if free.size else own[held].min())
    return own


def _host_order(points: Points, own: Times, handovers: Handovers, host: NDArray[np.int64]) -> Edges:
    """Edges from each point to the next on its thread; their time is the host's work in between, without waits."""
    at = np.flatnonzero(points.previous >= 0)
    since = points.at[points.previous[at]]
    usual = points.at[at] - since
    returns = (points.kind[at] == RETURN) & (points.call[at] >= 0)
    these = at[returns]
    call = points.call[these]
    usual[returns] = np.clip(points.start[these] + own[call] - since[returns], 0, usual[returns])
    for kind, ready in ((TAKEN, handovers.ready + handovers.gap), (EMPTIED, handovers.free)):
        these = points.kind[at] == kind
        usual[these] = np.clip(ready[points.handover[at[these]]] - since[these], 0, usual[these])
    return Edges.of(graph.GOES_ON, host[at], host[points.previous[at]], usual)


def _hand_edges(points: Points, handovers: Handovers, host: NDArray[np.int64]) -> Edges:
    parts = []
    for source, target, usual in ((PUT, TAKEN, handovers.delay), (DONE, EMPTIED, handovers.back)):
        one, other = (_by_handover(points, kind, host) for kind in (source, target))
        parts.append(Edges.of(graph.HANDS, other, one, usual))
    return Edges.all(parts)


def _by_handover(points: Points, kind: int, host: NDArray[np.int64]) -> NDArray[np.int64]:
    these = np.flatnonzero(points.kind == kind)
    ordered: NDArray[np.int64] = host[these[np.argsort(points.handover[these], kind="stable")]]
    return ordered


def _wait_edges(waits: CallWaits, return_of: NDArray[np.int64], where: _Where) -> Edges:
    point = return_of[waits.call]
    return Edges.of(graph.WAITS, where.host[point], where.device[waits.activity], waits.usual_return)


def _room_edges(
    calls: GraphCalls, launch: NDArray[np.int64], room: NDArray[np.int64], return_of: NDArray[np.int64], where: _Where
) -> Edges:
    return Edges.of(graph.ROOM, where.host[return_of[calls.find(launch)]], where.device[room], 0)
