"""Points of host threads at which they act on the device, wait for it, or hand over to another thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import host_calls
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities
from stepscope.analyses.stepgraph.building.handovers import Handovers
from stepscope.analyses.stepgraph.building.host_calls import GraphCalls
from stepscope.analyses.stepgraph.building.selection import GraphSteps
from stepscope.analyses.stepgraph.building.threads import Threads
from stepscope.model.intervals import Times

#: What a point is: the end of a call; the moment inside a call at which it has launched; a moment at which a thread
#: stops for another one; that at which it has put work in a queue for another one, or is done with such work; that at
#: which it begins with such work, or goes on as all of it is done; start and end of a step.
RETURN, ISSUE, YIELD, PUT, DONE, TAKEN, EMPTIED, START, END = range(9)


@dataclass(frozen=True, slots=True)
class Points:
    """The n points, by thread and time.

    Attributes:
        at: int64[n], when.
        track: int32[n].
        kind: int8[n].
        call: int64[n], position in `GraphCalls`, -1 if it belongs to none.
        step: int32[n], step of starts and ends, else -1.
        previous: int64[n], the point from which the thread, or the one whose turn it was, went on; -1 for the first.
        start: int64[n], start of the call; equal to `at` if there is none.
        handover: int64[n], position in `Handovers` of what is put or taken, or of the call before which all was done;
            else -1.
    """

    at: Times
    track: NDArray[np.int32]
    kind: NDArray[np.int8]
    call: NDArray[np.int64]
    step: NDArray[np.int32]
    previous: NDArray[np.int64]
    start: Times
    handover: NDArray[np.int64]


def host_points(
    selection: GraphSteps, threads: Threads, calls: GraphCalls, issued: Times, handovers: Handovers
) -> Points:
    """The points of all threads.

    Args:
        selection: The steps.
        threads: The threads.
        calls: Their calls.
        issued: int64[calls], when each call had launched its work, if its end is not to stand for that; else -1.
        handovers: What they hand to each other.
    """
    acting = np.flatnonzero(
        np.isin(calls.role, (host_calls.LAUNCH, host_calls.WAIT, host_calls.ALLOCATION, host_calls.LOADER))
    )
    early = np.flatnonzero(issued >= 0)
    turns = threads.handoffs
    steps = selection.step.size if threads.main >= 0 else 0
    main = np.full(steps, threads.main, np.int32)
    task, emptied = np.arange(handovers.put.size), np.arange(handovers.call.size)
    parts = [
        _part(RETURN, calls.end[acting], calls.track[acting], call=acting, start=calls.ts[acting]),
        _part(ISSUE, issued[early], calls.track[early], call=early, start=calls.ts[early]),
        _part(YIELD, turns.stopped, turns.source),
        _part(PUT, handovers.put, handovers.giver, handover=task),
        _part(TAKEN, handovers.taken, handovers.taker, handover=task),
        _part(DONE, handovers.done[handovers.last], handovers.taker[handovers.last], handover=emptied),
        _part(EMPTIED, calls.ts[handovers.call], calls.track[handovers.call], handover=emptied),
        _part(START, selection.starts[:steps], main, step=selection.step[:steps]),
        _part(END, selection.ends[:steps], main, step=selection.step[:steps]),
    ]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    # Of points at one moment, a call inside another comes first, then where a thread stops, then ends of steps.
    after = np.array([0, 0, 1, 1, 1, 4, 4, 3, 2])[columns["kind"]]
    order = np.lexsort((-columns["start"], after, columns["at"], columns["track"]))
    columns = {name: column[order] for name, column in columns.items()}
    return _after_turns(Points(previous=_same_thread(columns["track"]), **columns), threads)


def _part(kind: int, at: Times, track: NDArray[np.int32], **known: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Points of one kind; unknown columns are -1, and `start` is `at`."""
    none = np.full(at.size, -1)
    unknown = {"call": none, "step": none.astype(np.int32), "start": at, "handover": none}
    return {"at": at, "track": track, "kind": np.full(at.size, kind, np.int8), **unknown, **known}


def _same_thread(track: NDArray[np.int32]) -> NDArray[np.int64]:
    previous: NDArray[np.int64] = np.arange(-1, track.size - 1)
    previous[np.append(True, track[1:] != track[:-1])[: track.size]] = -1
    return previous


def _after_turns(points: Points, threads: Threads) -> Points:
    """Let a point come after the moment at which another thread stopped, where that one had its turn before."""
    turns = threads.handoffs
    if not turns.target.size:
        return points
    # A thread stops at a point of what is called, or of a turn.
    stops = np.maximum.accumulate(np.where(points.kind < TAKEN, np.arange(points.kind.size), -1))
    order = np.argsort(turns.target, kind="stable")
    tracks, groups = np.unique(turns.target[order], return_index=True)
    for track, mine in zip(tracks.tolist(), np.split(order, groups[1:]), strict=True):
        low, high = _of_track(points, track)
        # What begins there is the moment at which the thread went on; what is called ends after that.
        at = points.at[low:high] - (points.kind[low:high] < TAKEN)
        first = low + np.searchsorted(at, turns.resumed[mine], side="left")
        held = first < high
        sources, stopped = turns.source[mine][held].tolist(), turns.stopped[mine][held].tolist()
        for one, source, moment in zip(first[held].tolist(), sources, stopped, strict=True):
            start, end = _of_track(points, source)
            last = start + int(np.searchsorted(points.at[start:end], moment, side="right")) - 1
            points.previous[one] = stops[last]
    return points


def _of_track(points: Points, track: int) -> tuple[int, int]:
    """Where the points of a thread start and end."""
    low, high = (int(np.searchsorted(points.track, track, side=side)) for side in ("left", "right"))
    return low, high


def activity_points(points: Points, calls: GraphCalls, activities: GraphActivities) -> NDArray[np.int64]:
    """The point at which each activity was launched, int64[activities], -1 where that is not recorded."""
    call = calls.find(activities.launch)
    found = np.full(call.size, -1)
    known = call >= 0
    point_of = np.full(calls.id.size, -1)
    for kind in (RETURN, ISSUE):  # where a call has both, the moment at which it had launched counts
        these = np.flatnonzero((points.kind == kind) & (points.call >= 0))
        point_of[points.call[these]] = these
    found[known] = point_of[call[known]]
    return found
