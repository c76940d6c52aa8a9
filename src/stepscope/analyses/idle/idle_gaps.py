"""The gaps in a device's activity, and the launch that ended each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import called_names
from stepscope.analyses.shared.recorded_events import passing
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.firsts import firsts
from stepscope.model.intervals import Intervals, Times, ascending, ordered
from stepscope.model.runtime_names import is_stream_wait
from stepscope.model.trace import Trace

#: Why an activity that had been launched did not start yet.
EMPTY_QUEUE, QUEUED, EVENT, OTHER_STREAM, DELAYED = range(5)

#: Launch latency assumed where nothing is launched to an idle device; CUDA's is 2 to 10 µs, HIP's up to 20 µs.
_TYPICAL_LATENCY_NS = 10_000
#: An activity that starts later than this many typical latencies after it could have started waits for something.
_LATE = 2
#: Later than this, and than ten typical latencies, it is not the launch that takes the time: work that the recording
#: lacks came first, or the device served another process.
_DELAYED_NS = 100_000

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class QueueWaits:
    """Waits of device queues: the calls that ask for them, by thread, and the waits themselves, by queue."""

    calls: Columns
    queued: Columns


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps in a device's activity, ascending. The activity that ends a gap is its starter.

    Attributes:
        starts: int64[n].
        ends: int64[n].
        call_starts: int64[n], start of the call that launched the starter, clipped to the gap; the gap's end if
            there is no such call.
        call_ends: int64[n], its end, clipped in the same way.
        thread: int64[n], track of that call, -1 if there is none.
        started: bool[n], whether there is a starter; False only for a gap at the end.
        why: int64[n], what the starter waited for after its launch.
        fresh: bool[n], whether the starter is the first of its name that the recording has.
        inner: bool[n], whether the starter is part of a graph, and not the first activity of that launch.
    """

    starts: Times
    ends: Times
    call_starts: Times
    call_ends: Times
    thread: NDArray[np.int64]
    started: NDArray[np.bool_]
    why: NDArray[np.int64]
    fresh: NDArray[np.bool_]
    inner: NDArray[np.bool_]


def activities(trace: Trace) -> Columns:
    """Activities of all devices with their launches, by start; of equal starts the first launched comes first."""
    work = DeviceWork.of(trace)
    real = ~work.are("sync") & (work.dur > 0)
    at = slice(None) if real.all() else np.flatnonzero(real)
    ts, launched, call_ns = work.ts[at], work.launched[at], np.maximum(work.call_ns[at], 0)
    launch_start = np.where(launched, work.called[at], ts)
    launch_end = np.where(launched, launch_start + call_ns, ts)
    rows: Columns = {"device": work.device[at], "track": work.track[at], "ts": ts, "stop": ts + work.dur[at]}
    rows |= {"launched": launched, "thread": work.thread[at], "launch_start": launch_start, "launch_end": launch_end}
    sorted_ = ordered(ts, ~launched, launch_end, work.event[at])
    order = slice(None) if (sorted_[1:] > sorted_[:-1]).all() else sorted_
    rows = {name: values[order] for name, values in rows.items()}
    rows["fresh"] = np.zeros(ts.size, np.bool_)
    rows["fresh"][firsts(work.name[at][order])] = True
    rows["inner"] = work.in_graph[at][order] & rows["launched"]
    if rows["inner"].any():
        rows["inner"][firsts(work.launch[at][order])] = False
    return rows


def stream_waits(trace: Trace) -> QueueWaits:
    """All waits of device queues."""
    spans, work = Spans(trace), DeviceWork.of(trace)
    waits = passing(trace.once(called_names), is_stream_wait)
    calls = np.flatnonzero(spans.of("runtime", "sync"))
    calls = calls[np.isin(spans.name[calls], waits)]
    queued, names = np.flatnonzero(work.are("sync")), trace.once(names_by_id)
    real = [name for name in np.unique(work.name[queued]).tolist() if is_stream_wait(names[name])]
    queued = queued[np.isin(work.name[queued], real)]
    return QueueWaits(_by_time(spans.track[calls], spans.ts[calls]), _by_time(work.track[queued], work.ts[queued]))


def _by_time(track: NDArray[np.int32], ts: Times) -> Columns:
    order = np.argsort(ts, kind="stable")
    return {"track": track[order], "ts": ts[order]}


def find_gaps(rows: Columns, waits: QueueWaits, lo: int, hi: int) -> Gaps:
    """Gaps of one device in [lo, hi), given its activities, which may overlap even on one stream."""
    idle = Intervals.union_of(rows["ts"], rows["stop"]).complement(lo, hi)
    starter = np.searchsorted(rows["ts"], idle.ends, side="left")
    started = starter < rows["ts"].size
    if rows["ts"].size:
        starter[~started] = 0
        started &= rows["ts"][starter] == idle.ends
        launched = started & rows["launched"][starter]
    else:
        launched = started
    call_starts, call_ends = idle.ends.copy(), idle.ends.copy()
    thread = np.full(idle.ends.size, -1, np.int64)
    why = np.full(idle.ends.size, EMPTY_QUEUE, np.int64)
    fresh, inner = np.zeros(idle.ends.size, np.bool_), np.zeros(idle.ends.size, np.bool_)
    mine = slice(None) if launched.all() else np.flatnonzero(launched)
    which, starts, ends = starter[mine], idle.starts[mine], idle.ends[mine]
    call_starts[mine] = np.clip(rows["launch_start"][which], starts, ends)
    call_ends[mine] = np.clip(rows["launch_end"][which], starts, ends)
    thread[mine] = rows["thread"][which]
    why[mine] = _why_late(rows, waits, which, starts)
    fresh[mine], inner[mine] = rows["fresh"][which], rows["inner"][which]
    return Gaps(idle.starts, idle.ends, call_starts, call_ends, thread, started, why, fresh, inner)


def _why_late(rows: Columns, waits: QueueWaits, which: NDArray[np.int64], gap_starts: Times) -> NDArray[np.int64]:
    """What each launched starter `which` waited for between its launch and its start."""
    queue_free, previous_launch = _previous_on_queue(rows)
    launch_end, start = rows["launch_end"][which], rows["ts"][which]
    into_idle = launch_end > gap_starts
    latency = (start - launch_end)[into_idle & (launch_end <= start)]
    typical = min(int(np.median(latency)), _DELAYED_NS // 2) if latency.size else _TYPICAL_LATENCY_NS
    free = queue_free[which]
    waited = start - np.maximum(launch_end, free)
    asked = np.zeros(which.size, np.bool_)
    if waits.calls["ts"].size or waits.queued["ts"].size:
        since, until = previous_launch[which], rows["launch_start"][which]
        asked |= _any_between(waits.calls, rows["thread"][which], since, until)
        asked |= _any_between(waits.queued, rows["track"][which], since, start)
    behind = ~into_idle & (free < gap_starts)
    why = np.where(into_idle, EMPTY_QUEUE, QUEUED)
    why[waited > max(_DELAYED_NS, 10 * typical)] = DELAYED
    why[behind & (waited > _LATE * typical)] = OTHER_STREAM
    why[asked & (behind & (waited > typical) | into_idle & (waited > _LATE * typical))] = EVENT
    return why


def _previous_on_queue(rows: Columns) -> tuple[Times, Times]:
    """For each activity, when its queue had finished all earlier ones, and when the previous one was launched."""
    never = np.iinfo(np.int64).min
    free = np.full(rows["ts"].size, never)
    launched = np.full(rows["ts"].size, never)
    if (rows["track"] == rows["track"][:1]).all():
        free[1:], launched[1:] = np.maximum.accumulate(rows["stop"])[:-1], rows["launch_start"][:-1]
        return free, launched
    order = ascending(rows["track"])
    edges = np.flatnonzero(np.diff(rows["track"][order])) + 1
    for mine in np.split(order, edges):
        free[mine[1:]] = np.maximum.accumulate(rows["stop"][mine])[:-1]
        launched[mine[1:]] = rows["launch_start"][mine[:-1]]
    return free, launched


def _any_between(events: Columns, track: NDArray[np.int64], after: Times, before: Times) -> NDArray[np.bool_]:
    """Whether the track has an event that begins after `after` and before `before`."""
    found = np.zeros(track.size, np.bool_)
    for one in np.unique(events["track"]):
        its = events["ts"][events["track"] == one]
        mine = track == one
        found[mine] = np.searchsorted(its, before[mine], "left") > np.searchsorted(its, after[mine], "right")
    return found
