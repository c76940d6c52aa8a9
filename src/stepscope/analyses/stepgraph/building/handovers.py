"""Tasks that one host thread hands to another through a queue, as Ascend's framework does with all launches.

Before it waits for the device, the thread that hands tasks over waits until the queue is empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.host_calls import WAIT, GraphCalls
from stepscope.analyses.stepgraph.building.selection import GraphSteps
from stepscope.model.events.columns import Spans
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

#: What takes longer than this to be taken from the queue, though nothing is before it, waits for something else.
_SLOWEST_NS = 50_000

_FLOWS_SQL = "SELECT source, target FROM flows WHERE kind = 'queue' AND source IS NOT NULL AND target IS NOT NULL"
_EDGES_SQL = """
SELECT unnest([ts, ts + dur]) AS edge FROM spans WHERE track = $track AND dur IS NOT NULL AND ts < $hi ORDER BY edge
"""


@dataclass(frozen=True, slots=True, eq=False)
class Handed:
    """The n tasks that threads put in queues and others took, in no particular order.

    Attributes:
        giver: int32[n], track of the thread that put the task in the queue.
        given: int64[n], when it began to.
        put: int64[n], when it had done so; it may return a little after that was taken.
        target: int64[n], event of the task.
        taker: int32[n], track of the thread that took it.
        taken: int64[n], when that began with it.
        done: int64[n], when it was done with it.
    """

    giver: NDArray[np.int32]
    given: Times
    put: Times
    target: NDArray[np.int64]
    taker: NDArray[np.int32]
    taken: Times
    done: Times


def handed(trace: Trace) -> Handed:
    """All tasks that threads hand to others; ask for it with `Trace.once`."""
    flows, spans = trace.columns(_FLOWS_SQL), Spans(trace)
    if not flows["source"].size:
        no_time, no_track = np.zeros(0, np.int64), np.zeros(0, np.int32)
        return Handed(no_track, no_time, no_time, no_time, no_track, no_time, no_time)
    source, target = spans.rows(flows["source"]), spans.rows(flows["target"])
    known = (source >= 0) & (target >= 0)
    source, target = source[known], target[known]
    given, taken = spans.ts[source], spans.ts[target]
    put, done = given + np.maximum(spans.dur[source], 0), taken + np.maximum(spans.dur[target], 0)
    return Handed(
        spans.track[source], given, put, flows["target"][known], spans.track[target], taken, done
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Handovers:
    """The n tasks that threads handed to others, and the m calls before which they waited for all to be done.

    Attributes:
        giver: int32[n], track of the thread that put the task in the queue.
        put: int64[n], when it had done so.
        taker: int32[n], track of the thread that took it; by this and `taken`.
        taken: int64[n], when that began with it.
        done: int64[n], when it was done with it.
        ready: int64[n], when it was done with what it took before, 0 for the first.
        call: int64[m], positions in `GraphCalls`.
        last: int64[m], the task that was in the queue last.
        free: int64[m], when the call would have been made had the queue been empty.
        delay: Usual time from `put` to `taken` if the taker has nothing else to do.
        gap: Usual time from `ready` to `taken` if something is in the queue.
        back: Usual time from `done` of the last task to the call.
    """

    giver: NDArray[np.int32]
    put: Times
    taker: NDArray[np.int32]
    taken: Times
    done: Times
    ready: Times
    call: NDArray[np.int64]
    last: NDArray[np.int64]
    free: Times
    delay: int
    gap: int
    back: int


def read_handovers(trace: Trace, selection: GraphSteps, calls: GraphCalls) -> Handovers:
    """Tasks handed over in the chosen steps."""
    hi = int(selection.ends[-1])
    tasks = trace.once(handed)
    chosen = (tasks.giver != tasks.taker) & (tasks.given < tasks.taken)
    chosen &= (tasks.given >= selection.starts[0]) & (tasks.taken < hi)
    put = np.minimum(tasks.put, tasks.taken - 1)
    at = np.flatnonzero(chosen)
    at = at[np.lexsort((put[at], tasks.taken[at], tasks.taker[at]))]
    giver, put, taker, taken, done = tasks.giver[at], put[at], tasks.taker[at], tasks.taken[at], tasks.done[at]
    ready = np.zeros_like(put)
    again = np.flatnonzero(taker[1:] == taker[:-1]) + 1
    ready[again] = np.minimum(done[again - 1], taken[again])
    call, last, idle = _emptied(trace, hi, calls, giver, put, done)
    came = put > ready
    waited = done[last] > idle
    back = _usual((calls.ts[call] - done[last])[waited])
    free = np.where(waited, idle + back, calls.ts[call])
    return Handovers(
        giver, put, taker, taken, done, ready, call, last, free,
        _usual((taken - put)[came]), _usual((taken - ready)[~came]), back,
    )  # fmt: skip


def _emptied(
    trace: Trace, hi: int, calls: GraphCalls, giver: NDArray[np.int32], put: Times, done: Times
) -> tuple[NDArray[np.int64], NDArray[np.int64], Times]:
    """`call` and `last` of `Handovers`, and since when the calling thread had nothing else to do."""
    found = [np.zeros((3, 0), np.int64)]
    for track in np.unique(giver).tolist():
        mine = np.flatnonzero(giver == track)
        mine = mine[np.argsort(put[mine], kind="stable")]
        waits = np.flatnonzero((calls.track == track) & (calls.role == WAIT))
        before = np.searchsorted(put[mine], calls.ts[waits], side="left") - 1
        waits, last = waits[before >= 0], mine[before[before >= 0]]
        empty = done[last] < calls.ts[waits]
        waits, last = waits[empty], last[empty]
        edges = trace.columns(_EDGES_SQL, {"track": track, "hi": hi})["edge"]
        idle = edges[np.searchsorted(edges, calls.ts[waits], side="left") - 1]
        found.append(np.stack((waits, last, idle)))
    call, last, idle = np.concatenate(found, axis=1)
    return call, last, idle


def _usual(delays: Times) -> int:
    return min(int(np.median(delays)), _SLOWEST_NS) if delays.size else 0
