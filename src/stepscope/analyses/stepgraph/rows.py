"""What the graph is made of: the device activities and host calls of the chosen steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.runtime_calls import called_names
from stepscope.analyses.stepgraph.selection import Selection
from stepscope.model import runtime_names
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

Ids = NDArray[np.int64]

#: What a host call does to the graph.
LAUNCH, WAIT, ALLOCATION, LOADER, EVENT_RECORD, EVENT_WAIT = range(6)
#: Kinds of device activities.
COMPUTE, COMM, COPY, SET = range(4)

_ACTIVITIES_SQL = """
SELECT k.event, k.track, k.ts, k.dur, coalesce(k.step, -1)::INTEGER AS step, coalesce(k.launch, -1) AS launch,
    (CASE k.kind WHEN 'compute' THEN 0 WHEN 'comm' THEN 1 WHEN 'copy' THEN 2 ELSE 3 END)::TINYINT AS kind,
    coalesce(h.ts, k.ts) AS called, coalesce(h.track, -1)::INTEGER AS thread,
    coalesce('pageable' IN (c.src_kind, c.dst_kind), false) AS pageable, k.graph IS NOT NULL AS in_graph
FROM kernels k LEFT JOIN spans h ON h.id = k.launch LEFT JOIN copies c ON c.event = k.event
WHERE k.kind <> 'sync' AND k.ts + k.dur > $lo AND coalesce(h.ts, k.ts) < $hi
ORDER BY k.ts, k.event
"""
_CALLS_SQL = """
SELECT s.id, s.track, s.ts, coalesce(s.dur, 0) AS dur, s.name_id AS name, (CASE
    WHEN s.category = 'dataloader' THEN 3
    WHEN s.id IN (SELECT unnest($launches)) THEN 0
    WHEN s.name_id IN (SELECT unnest($records)) THEN 4
    WHEN s.name_id IN (SELECT unnest($event_waits)) THEN 5
    WHEN s.name_id IN (SELECT unnest($waits)) OR s.id IN (SELECT unnest($reads)) THEN 1
    ELSE 2 END)::TINYINT AS role
FROM spans s JOIN tracks t USING (track)
WHERE t.kind = 'host' AND s.ts >= $lo AND s.ts < $hi AND (s.category = 'dataloader'
    OR s.id IN (SELECT unnest($launches || $reads))
    OR s.category IN ('runtime', 'sync', 'launch')
        AND s.name_id IN (SELECT unnest($records || $event_waits || $waits || $allocations)))
ORDER BY s.track, s.ts, s.id
"""
# Where calls of the runtime are not recorded, the operator that needs the device's answer stands for its wait.
_SILENT_READS_SQL = """
SELECT s.id FROM spans s JOIN names n USING (name_id) WHERE n.name = $name AND s.category = 'op' AND s.id NOT IN (
    SELECT parent FROM spans WHERE parent IS NOT NULL AND category IN ('runtime', 'sync', 'launch'))
"""
_QUEUED_WAITS_SQL = """
SELECT coalesce(launch, -1) AS call, track FROM kernels WHERE kind = 'sync' AND ts >= $lo AND ts < $hi ORDER BY ts
"""


@dataclass(frozen=True, slots=True)
class Activities:
    """The n device activities that are launched in the chosen steps, or still run when these begin; by begin.

    Attributes:
        event: int64[n].
        track: int32[n], their queues.
        ts: int64[n].
        end: int64[n].
        step: int32[n], -1 if they belong to none.
        launch: int64[n], the launching events, -1 if not recorded.
        called: int64[n], begin of the launching call; their own where it is not recorded.
        thread: int32[n], track of that call, -1 if not recorded.
        kind: int8[n].
        pageable: bool[n], copies to or from pageable memory.
        in_graph: bool[n].
    """

    event: Ids
    track: NDArray[np.int32]
    ts: Times
    end: Times
    step: NDArray[np.int32]
    launch: Ids
    called: Times
    thread: NDArray[np.int32]
    kind: NDArray[np.int8]
    pageable: NDArray[np.bool_]
    in_graph: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Calls:
    """The n host calls that matter to the graph, by thread and begin.

    Attributes:
        id: int64[n], their events.
        track: int32[n].
        ts: int64[n].
        end: int64[n].
        name: int32[n], `name_id`.
        role: int8[n].
        scope: int8[n], what a wait waits for: one of `runtime_names.SCOPES` by position.
        queue: int32[n], device queue that it waits for or makes wait, -1 where not recorded.
        blocking: bool[n], calls that return only when what they launched is done, by name.
    """

    id: Ids
    track: NDArray[np.int32]
    ts: Times
    end: Times
    name: NDArray[np.int32]
    role: NDArray[np.int8]
    scope: NDArray[np.int8]
    queue: NDArray[np.int32]
    blocking: NDArray[np.bool_]

    def find(self, events: Ids) -> Ids:
        """Positions of the calls that are these events, int64[m], -1 for events that are no such call."""
        found = np.full(events.size, -1)
        if self.id.size:
            order = np.argsort(self.id, kind="stable")
            at = order[np.minimum(np.searchsorted(self.id, events, sorter=order), self.id.size - 1)]
            known = self.id[at] == events
            found[known] = at[known]
        return found


def read_activities(trace: Trace, selection: Selection) -> Activities:
    """The device activities of the chosen steps."""
    rows = trace.columns(_ACTIVITIES_SQL, _range(selection))
    return Activities(
        rows["event"],
        rows["track"],
        rows["ts"],
        rows["ts"] + rows["dur"],
        rows["step"],
        rows["launch"],
        rows["called"],
        rows["thread"],
        rows["kind"],
        rows["pageable"].astype(np.bool_),
        rows["in_graph"].astype(np.bool_),
    )


def read_calls(trace: Trace, selection: Selection, activities: Activities) -> Calls:
    """The host calls of the chosen steps."""
    names = trace.once(called_names)

    def named(test: Callable[[str], bool]) -> list[int]:
        return [name_id for name_id, name in names if test(name)]

    within = _range(selection)
    known: dict[str, Any] = {
        **within,
        "launches": np.unique(activities.launch[activities.launch >= 0]).tolist(),
        "records": named(runtime_names.is_event_record),
        "event_waits": named(runtime_names.is_stream_wait),
        "waits": named(runtime_names.is_synchronisation),
        "allocations": named(runtime_names.is_allocation),
        "reads": trace.columns(_SILENT_READS_SQL, {"name": runtime_names.SCALAR_READ})["id"].tolist(),
    }
    calls = trace.columns(_CALLS_SQL, known)
    scope = np.zeros(max((name_id for name_id, _ in names), default=0) + 1, np.int8)
    for name_id, name in names:
        scope[name_id] = runtime_names.SCOPES.index(runtime_names.wait_scope(name))
    in_range = np.minimum(calls["name"], scope.size - 1)
    scopes = scope[in_range]
    scopes[np.isin(calls["id"], known["reads"])] = runtime_names.SCOPES.index("stream")
    return Calls(
        calls["id"],
        calls["track"],
        calls["ts"],
        calls["ts"] + calls["dur"],
        calls["name"],
        calls["role"],
        scopes,
        _queues(trace, within, calls["id"]),
        np.isin(calls["name"], named(runtime_names.is_blocking_copy)),
    )


def launched_before_waits(activities: Activities, calls: Calls) -> Activities:
    """Say of what started while the host was waiting, and whose launch was not recorded, that it was launched before.

    What precedes it on its queue was launched before it.
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


def _queues(trace: Trace, within: dict[str, int], ids: Ids) -> NDArray[np.int32]:
    """The queue that each call makes wait or waits for, where the recording has a wait of that queue for it."""
    rows = trace.columns(_QUEUED_WAITS_SQL, within)
    order = np.argsort(rows["call"], kind="stable")
    call, track = rows["call"][order], rows["track"][order]
    found = np.full(ids.size, -1, np.int32)
    if call.size:
        at = np.minimum(np.searchsorted(call, ids), call.size - 1)
        found = np.where(call[at] == ids, track[at], -1).astype(np.int32)
    return found


def _range(selection: Selection) -> dict[str, int]:
    return {"lo": int(selection.starts[0]), "hi": int(selection.ends[-1])}
