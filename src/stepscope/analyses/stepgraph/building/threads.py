"""Find where one host thread continues after another one has stopped.

A backward pass runs on a thread of its own while the main thread waits for it: together they form one line of time.
That wait is not recorded, but follows from the times: a thread that is idle while another one runs something that
starts and ends within that idle time continues when the other is done.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.grouping import Groups
from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.analyses.stepgraph.building.selection import GraphSteps
from stepscope.model.events.columns import Spans, on_host
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals, Times, distinct
from stepscope.model.trace import Trace

#: A thread that works while others do for more than this share of its time does not take turns with them.
CONCURRENT = 0.2
_NONE: Final = np.zeros(0, np.int64)

#: A thread is at work in what it does last of all: what encloses that may only wait for another thread. A collection
#: stops every thread, whichever it is recorded on.
_WORK = ("op", "runtime", "launch", "sync", "queue", "dataloader")
#: A thread with any of these belongs to the job's work.
_ACTIVE = ("op", "runtime", "launch", "sync", "step")


@dataclass(frozen=True, slots=True)
class Handoffs:
    """The m moments at which a thread continues because another one has stopped, by time.

    Attributes:
        source: int32[m], thread that stops.
        stopped: int64[m], when.
        target: int32[m], thread that goes on.
        resumed: int64[m], when.
    """

    source: NDArray[np.int32]
    stopped: Times
    target: NDArray[np.int32]
    resumed: Times


@dataclass(frozen=True, slots=True)
class Threads:
    """The host threads of the graph.

    Attributes:
        main: The thread that runs the steps; -1 if no thread is recorded.
        woven: Threads that take turns, the main one among them.
        handoffs: Their turns.
    """

    main: int
    woven: frozenset[int]
    handoffs: Handoffs


def read_threads(trace: Trace, selection: GraphSteps, led: Collection[int] = ()) -> Threads:
    """The threads of the chosen steps, and their handoffs.

    Args:
        trace: The trace of one rank.
        selection: The steps.
        led: Tracks of threads that do what others hand them: when they go on is recorded.
    """
    main = _main(trace)
    if main < 0:
        return Threads(-1, frozenset(), _turns({}))
    spans = Spans(trace)
    active = np.zeros(int(spans.track.max()) + 1, np.bool_)
    active[spans.track[spans.of(*_ACTIVE)]] = True
    active &= on_host(trace, np.arange(active.size, dtype=np.int32))
    chosen = spans.of(*_WORK) & active[spans.track] & (spans.dur > 0)
    at = np.flatnonzero(chosen & (spans.ts >= selection.starts[0]) & (spans.ts < selection.ends[-1]))
    track, ts = spans.track[at], spans.ts[at]
    work = _innermost(*_in_order(track, ts, ts + spans.dur[at]))
    marks = distinct(np.concatenate((selection.starts, selection.ends)))
    woven = _taking_turns({track: busy for track, busy in work.items() if track not in led}, main)
    starts, ends = work.get(main, (marks[:0], marks[:0]))
    turns = {track: work[track] for track in woven if track in work}
    # A step's start and end are moments of the main thread, whatever else it does then.
    turns[main] = (np.concatenate((starts, marks)), np.concatenate((ends, marks)))
    return Threads(main, woven, _turns(turns))


def _main(trace: Trace) -> int:
    """The host thread with the most steps; of several the one that starts first; -1 if none is recorded."""
    events = trace.once(recorded_events)
    mine = events.host & ~events.of(("overhead", "other"))
    if DeviceWork.of(trace).event.size and not (mine & ~events.of(("step",))).any():
        return -1  # steps that sums tell of, beside the device's work: what the host did is not recorded
    threads = Groups.by(events.track[mine])
    if not threads.count.size:
        return -1
    track, first = events.track[mine][threads.first], threads.least(events.first[mine])
    steps = threads.sum(np.where(events.of(("step",)), events.number, 0)[mine])
    return int(track[np.lexsort((track, first, -steps))[0]])


def _in_order(track: NDArray[np.int32], starts: Times, ends: Times) -> tuple[NDArray[np.int32], Times, Times]:
    """Events by thread, start and the longest first; stores may hold an inner event before one that starts with it."""
    order = np.lexsort((-ends, starts, track))
    return track[order], starts[order], ends[order]


Work = dict[int, tuple[Times, Times]]


def _innermost(track: NDArray[np.int32], starts: Times, ends: Times) -> Work:
    """Events without inner events, by thread."""
    if not track.size:
        return {}
    alone = np.append((track[1:] != track[:-1]) | (starts[1:] >= ends[:-1]), True)
    track, starts, ends = track[alone], starts[alone], ends[alone]
    threads, first = np.unique(track, return_index=True)
    parts = zip(np.split(starts, first[1:]), np.split(ends, first[1:]), strict=True)
    return dict(zip(threads.tolist(), parts, strict=True))


def _taking_turns(work: Work, main: int) -> frozenset[int]:
    """The main thread and those that hardly ever run at the same time as another of them, the busiest first."""
    busy = {track: Intervals.union_of(*one) for track, one in work.items()}
    cuts = distinct(np.concatenate([edges for one in busy.values() for edges in (one.starts, one.ends)] or [_NONE]))
    # Of each stretch between two neighbouring cuts, whether one of the chosen threads runs all the time.
    length, taken = np.diff(cuts), np.zeros(cuts.size, np.bool_)
    woven = {main}
    for track in sorted(busy, key=lambda track: (track != main, -busy[track].total, track)):
        first, stop = (np.searchsorted(cuts, edges) for edges in (busy[track].starts, busy[track].ends))
        number = stop - first
        own = np.repeat(stop - np.cumsum(number), number) + np.arange(number.sum())
        if track == main or length[own[taken[own]]].sum() <= CONCURRENT * busy[track].total:
            woven.add(track)
            taken[own] = True
    return frozenset(woven)


def _turns(work: Work) -> Handoffs:
    tracks = [np.full(busy[0].size, track, np.int32) for track, busy in work.items()]
    if len(tracks) < 2:
        none = np.zeros(0, np.int64)
        return Handoffs(none.astype(np.int32), none, none.astype(np.int32), none)
    track = np.concatenate(tracks)
    starts, ends = (np.concatenate([busy[side] for busy in work.values()]) for side in (0, 1))
    order = np.lexsort((ends, starts, track))
    track, starts, ends = track[order], starts[order], ends[order]
    idle_since = np.append(np.iinfo(np.int64).min, ends[:-1])
    idle_since[np.append(True, track[1:] != track[:-1])] = np.iinfo(np.int64).min
    by_end = np.lexsort((starts, ends))
    before = np.searchsorted(ends[by_end], starts, side="right") - 1
    last = by_end[np.maximum(before, 0)]
    handed = (before >= 0) & (track[last] != track) & (ends[last] > idle_since) & (starts[last] >= idle_since)
    target = np.flatnonzero(handed)
    target = target[np.argsort(starts[target], kind="stable")]
    source = last[target]
    return Handoffs(track[source], ends[source], track[target], starts[target])
