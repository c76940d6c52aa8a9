"""The host's part of the graph: points of its threads at which they act on the device, wait for it, or take turns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph import rows
from stepscope.analyses.stepgraph.rows import Activities, Calls
from stepscope.analyses.stepgraph.selection import Selection
from stepscope.analyses.stepgraph.threads import Threads
from stepscope.model.intervals import Times

#: What a point is: the end of a call; the moment inside a call at which it has launched; a moment at which a thread
#: stops for another one; begin and end of a step.
RETURN, ISSUE, YIELD, BEGIN, END = range(5)


@dataclass(frozen=True, slots=True)
class Points:
    """The n points, by thread and time.

    Attributes:
        at: int64[n], when.
        track: int32[n].
        kind: int8[n].
        call: int64[n], position in `Calls`, -1 if it belongs to none.
        step: int32[n], index into `steps` of begins and ends, else -1.
        previous: int64[n], the point from which the thread, or the one whose turn it was, went on; -1 for the first.
        begin: int64[n], begin of the call; equal to `at` if there is none.
    """

    at: Times
    track: NDArray[np.int32]
    kind: NDArray[np.int8]
    call: NDArray[np.int64]
    step: NDArray[np.int32]
    previous: NDArray[np.int64]
    begin: Times


def host_points(selection: Selection, threads: Threads, calls: Calls, issued: Times) -> Points:
    """Lay out the points of all threads.

    Args:
        selection: The steps.
        threads: The threads.
        calls: Their calls.
        issued: int64[calls], when each call had launched its work, if its end is not to stand for that; else -1.
    """
    acting = np.flatnonzero(np.isin(calls.role, (rows.LAUNCH, rows.WAIT, rows.ALLOCATION, rows.LOADER)))
    early = np.flatnonzero(issued >= 0)
    turns = threads.handoffs
    none = np.full(turns.source.size, -1)
    steps = selection.step.size if threads.main >= 0 else 0
    marks = np.full(steps, -1)
    main = np.full(steps, threads.main, np.int32)
    parts = [
        (calls.end[acting], calls.track[acting], RETURN, acting, np.full(acting.size, -1), calls.ts[acting]),
        (issued[early], calls.track[early], ISSUE, early, np.full(early.size, -1), calls.ts[early]),
        (turns.stopped, turns.source, YIELD, none, none, turns.stopped),
        (selection.starts[:steps], main, BEGIN, marks, selection.step[:steps], selection.starts[:steps]),
        (selection.ends[:steps], main, END, marks, selection.step[:steps], selection.ends[:steps]),
    ]
    at, track, call, step, begin = (np.concatenate([part[i] for part in parts]) for i in (0, 1, 3, 4, 5))
    kind = np.concatenate([np.full(part[0].size, part[2], np.int8) for part in parts])
    # Of points at one moment, a call inside another comes first, then where a thread stops, then ends of steps.
    after = np.array([0, 0, 1, 3, 2])[kind]
    order = np.lexsort((-begin, after, at, track))
    at, track, kind, call, step, begin = (column[order] for column in (at, track, kind, call, step, begin))
    points = Points(at, track, kind, call, step.astype(np.int32), _same_thread(track), begin)
    return _after_turns(points, threads)


def _same_thread(track: NDArray[np.int32]) -> NDArray[np.int64]:
    previous: NDArray[np.int64] = np.arange(-1, track.size - 1)
    previous[np.append(True, track[1:] != track[:-1])[: track.size]] = -1
    return previous


def _after_turns(points: Points, threads: Threads) -> Points:
    """Where another thread had its turn, a point comes after the moment at which that one stopped."""
    turns = threads.handoffs
    for track in np.unique(turns.target).tolist():
        own = np.flatnonzero(points.track == track)
        mine = np.flatnonzero(turns.target == track)
        # A step's mark is the moment at which the main thread went on; what is called ends after that.
        at = points.at[own] - (points.kind[own] < BEGIN)
        first = np.searchsorted(at, turns.resumed[mine], side="left")
        held = first < own.size
        for one, source, stopped in zip(
            own[first[held]].tolist(),
            turns.source[mine][held].tolist(),
            turns.stopped[mine][held].tolist(),
            strict=True,
        ):
            points.previous[one] = _yield_point(points, source, stopped)
    return points


def _yield_point(points: Points, track: int, at: int) -> int:
    low = int(np.searchsorted(points.track, track, side="left"))
    high = int(np.searchsorted(points.track, track, side="right"))
    last = low + int(np.searchsorted(points.at[low:high], at, side="right")) - 1
    while points.kind[last] >= BEGIN:
        last -= 1
    return last


def activity_points(points: Points, calls: Calls, activities: Activities) -> NDArray[np.int64]:
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
