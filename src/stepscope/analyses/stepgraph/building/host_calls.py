"""Host calls of the chosen steps, from which the graph is built."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import called_names, loader_waits
from stepscope.analyses.shared.recorded_events import passing
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities, Ids
from stepscope.analyses.stepgraph.building.selection import GraphSteps
from stepscope.model import runtime_names
from stepscope.model.events.columns import Spans, on_host
from stepscope.model.events.columns import named as named_events
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.lookup import match
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

#: What a host call does to the graph.
LAUNCH, WAIT, ALLOCATION, LOADER, EVENT_RECORD, EVENT_WAIT = range(6)


@dataclass(frozen=True, slots=True)
class GraphCalls:
    """The n host calls that matter to the graph, by thread and start.

    Attributes:
        id: int64[n], their events.
        track: int32[n].
        ts: int64[n].
        end: int64[n].
        name: int32[n], `name_id`.
        role: int8[n].
        scope: int8[n], what a wait waits for: one of `runtime_names.SCOPES` by position.
        queue: int32[n], device queue that it waits for or makes wait, -1 where not recorded.
    """

    id: Ids
    track: NDArray[np.int32]
    ts: Times
    end: Times
    name: NDArray[np.int32]
    role: NDArray[np.int8]
    scope: NDArray[np.int8]
    queue: NDArray[np.int32]

    def find(self, events: Ids) -> Ids:
        """Positions of the calls that are these events, int64[m], -1 for events that are no such call."""
        return match(self.id, events)


def read_calls(trace: Trace, selection: GraphSteps, activities: GraphActivities) -> GraphCalls:
    """The host calls of the chosen steps."""
    names = trace.once(called_names)
    spans, work = Spans(trace), DeviceWork.of(trace)
    reads = _silent_reads(trace)
    launching = spans.rows(activities.launch)
    lo, hi = int(selection.starts[0]), int(selection.ends[-1])
    # What comes later decides.
    role = np.full(spans.ts.size, -1, np.int8)
    runtime = spans.of("runtime", "sync", "launch")
    for one, test in (
        (ALLOCATION, runtime_names.is_allocation),
        (WAIT, runtime_names.is_synchronisation),
        (EVENT_WAIT, runtime_names.is_stream_wait),
        (EVENT_RECORD, runtime_names.is_event_record),
    ):
        role[runtime & np.isin(spans.name, passing(names, test))] = one
    role[reads] = WAIT
    role[launching[launching >= 0]] = LAUNCH
    role[loader_waits(trace)] = LOADER
    at = np.flatnonzero((role >= 0) & (spans.ts >= lo) & (spans.ts < hi))
    at = at[on_host(trace, spans.track[at])]
    at = at[np.lexsort((spans.id[at], spans.ts[at], spans.track[at]))]
    ids, name = spans.id[at].astype(np.int64), spans.name[at]
    scope = np.zeros(max((name_id for name_id, _ in names), default=0) + 1, np.int8)
    for name_id, text in names:
        scope[name_id] = runtime_names.SCOPES.index(runtime_names.wait_scope(text))
    scopes = scope[np.minimum(name, scope.size - 1)]
    scopes[np.isin(at, reads)] = runtime_names.SCOPES.index("stream")
    waits = np.flatnonzero(work.are("sync") & (work.ts >= lo) & (work.ts < hi))
    queue = _queues(work.launch[waits], work.track[waits], work.ts[waits], ids)
    ts = spans.ts[at]
    return GraphCalls(
        ids, spans.track[at], ts, ts + np.maximum(spans.dur[at], 0), name, role[at], scopes, queue,
    )  # fmt: skip


def cut_at_steps(calls: GraphCalls, selection: GraphSteps, main: int) -> GraphCalls:
    """Cut calls of the main thread at the end of their step.

    A call that seems to outlive its step does so by rounding, and a return after the step's end would count its wait as
    host work.
    """
    ends = np.sort(selection.ends)
    at = np.minimum(np.searchsorted(ends, calls.ts, side="right"), ends.size - 1)
    over = calls.end - ends[at]
    cut = (calls.track == main) & (over > 0) & (over < ends[at] - calls.ts)
    return replace(calls, end=np.where(cut, ends[at], calls.end))


def launched_before_waits(activities: GraphActivities, calls: GraphCalls) -> GraphActivities:
    """Set the launch of activities without one that started during a host wait to before that wait.

    Activities before them on the same queue were launched before it as well.
    """
    waits = np.flatnonzero(calls.role == WAIT)
    unknown = np.flatnonzero(activities.launch < 0)
    called = activities.called.copy()
    if waits.size and unknown.size:
        order = waits[np.argsort(calls.ts[waits], kind="stable")]
        last = np.searchsorted(calls.ts[order], activities.ts[unknown], side="left") - 1
        covered = (last >= 0) & (calls.end[order[last]] > activities.ts[unknown])
        called[unknown[covered]] = calls.ts[order[last[covered]]] - 1
    for track in np.unique(activities.track[unknown]).tolist():
        mine = np.flatnonzero(activities.track == track)
        called[mine] = np.minimum.accumulate(called[mine][::-1])[::-1]
    return replace(activities, called=called)


def _silent_reads(trace: Trace) -> NDArray[np.int64]:
    """Positions of operators that need the device's result. Where no calls are recorded in them, they are the wait."""
    spans = Spans(trace)
    reads = named_events(trace, lambda name: name == runtime_names.SCALAR_READ) & spans.of("op")
    if reads.any():
        calls = spans.of("runtime", "sync", "launch") & (spans.around >= 0)
        reads[spans.around[calls]] = False
    return np.flatnonzero(reads)


def _queues(called: Ids, track: NDArray[np.int32], ts: Times, ids: Ids) -> NDArray[np.int32]:
    """The queue that each call waits for or makes wait, where a wait of that queue is recorded for it."""
    order = np.lexsort((ts, called))
    call, track = called[order], track[order]
    found = np.full(ids.size, -1, np.int32)
    if call.size:
        at = np.minimum(np.searchsorted(call, ids), call.size - 1)
        found = np.where(call[at] == ids, track[at], -1).astype(np.int32)
    return found
