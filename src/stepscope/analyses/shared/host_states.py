"""What the host threads that feed the devices were doing at every instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import blocking_copies
from stepscope.analyses.shared.recorded_events import RecordedEvents, names_of, passing, recorded_events
from stepscope.analyses.shared.thread_states import StateTiles, StateTimes
from stepscope.model import runtime_names
from stepscope.model.categories import CATEGORIES
from stepscope.model.events.columns import Spans
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals, Times, distinct
from stepscope.model.partition import Overlaid, overlay, overlay_lanes, partition
from stepscope.model.sizes import SIZES
from stepscope.model.trace import Trace

#: States, the most telling first: a thread is in the first one that covers an instant.
SYNC, ALLOCATION, GC, OVERHEAD, DATA, RUNTIME, OP = range(7)
#: Between recorded calls: in the user's Python, in code of an unknown language, or before or after the recording.
PYTHON, OTHER, SILENT = range(7, 10)

_RECORDED = (SYNC, ALLOCATION, GC, OVERHEAD, DATA, RUNTIME, OP)

#: The states that an event of each category may stand for, but for what its name tells.
_OF_CATEGORY: Final = {
    "overhead": OVERHEAD, "sync": SYNC, "gc": GC, "dataloader": DATA, "op": OP,
    "runtime": RUNTIME, "launch": RUNTIME, "queue": RUNTIME,
}  # fmt: skip
#: By position of the category, the last for what is of none.
_STATES: Final = np.array([*(_OF_CATEGORY.get(category, -1) for category in CATEGORIES), -1], np.int8)
#: What only a recording of Python has.
_OF_PYTHON = ("step", "op", "python", "module", "dataloader")

_EVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class StateParts:
    """Intervals cut where the state of their thread changes: n parts, by interval and then by time.

    Attributes:
        starts: int64[n].
        ends: int64[n].
        interval: int64[n], position of the interval.
        state: int8[n].
    """

    starts: Times
    ends: Times
    interval: NDArray[np.int64]
    state: NDArray[np.int8]


@dataclass(frozen=True)
class HostStates:
    """The states of the feeders: threads that launch device work, run its operators or run the steps.

    Where operators put their tasks on a queue, the thread that launches them only takes tasks off it.

    Attributes:
        feeders: Their tracks; the main thread first.
        calls: When each feeder was in each recorded state but `OVERHEAD`, united.
        overhead: When the profiler delayed any thread, which counts for all of them.
        recorded: The time from the first host event to the last.
        python: Whether the recording comes from Python.
    """

    feeders: tuple[int, ...]
    calls: StateTimes
    overhead: Intervals
    recorded: Intervals
    python: bool

    def cut(self, threads: NDArray[np.int64], starts: Times, ends: Times) -> StateParts:
        """What delayed the launches of a thread in each of n intervals, which may overlap; the parts cover them.

        Where the thread itself is idle, the states of the other feeders count: a backward pass is launched by a thread
        of its own, which starts when the main thread hands over. Time between two calls of a feeder other than the main
        thread belongs to the engine that drives it; all other time between calls belongs to the user's code.

        Args:
            threads: int64[n], tracks; what is no feeder counts as the main thread.
            starts: int64[n].
            ends: int64[n].
        """
        own = self._own
        lane = np.where(np.isin(threads, self.feeders), threads, self.feeders[0])
        found = _Labelled.of(own.state, overlay_lanes(lane, starts, ends, own.track, own.starts, own.ends))
        found = found.cut((found.label < 0) | (found.label > OVERHEAD), *self._overhead)
        heads, labels = self._common
        found = found.cut(found.label < 0, heads, np.append(heads[1:], _EVER), labels + len(_RECORDED)).merged()
        engine, user = (OP, PYTHON) if self.python else (OTHER, OTHER)
        states = np.array([*_RECORDED, *_RECORDED, engine, user, SILENT], np.int8)
        return StateParts(found.starts, found.ends, found.interval, states[found.label])

    def overhead_timeline(self, lo: int, hi: int) -> tuple[Times, Times, NDArray[np.int64]]:
        """When the profiler delayed the host: intervals (starts, ends, label) tiling [lo, hi), label 0 if it did."""
        return partition([self.overhead], lo, hi)

    @cached_property
    def _own(self) -> StateTiles:
        return StateTiles.of(self.calls, np.sort(np.array(self.feeders, np.int64)))

    @cached_property
    def _overhead(self) -> tuple[Times, Times, NDArray[np.int64]]:
        return self.overhead.starts, self.overhead.ends, np.full(len(self.overhead), OVERHEAD)

    @cached_property
    def _common(self) -> tuple[Times, NDArray[np.int64]]:
        """What feeders that are idle themselves wait for: starts of tiles of all time, and their layers."""
        layers = [*self._any, self._engine, self.recorded]
        known = [layer for layer in layers if len(layer)]
        lo, hi = min(int(layer.starts[0]) for layer in known), max(int(layer.ends[-1]) for layer in known)
        starts, _, labels = partition(layers, lo - 1, hi + 1)
        starts[0] = np.iinfo(np.int64).min
        return starts, labels

    @cached_property
    def _any(self) -> list[Intervals]:
        """When any feeder was in each recorded state."""
        calls = self.calls
        of_state = ((calls.starts[mine], calls.ends[mine]) for mine in (calls.state == one for one in _RECORDED))
        return [self.overhead if one == OVERHEAD else Intervals.union_of(*found) for one, found in enumerate(of_state)]

    @cached_property
    def _engine(self) -> Intervals:
        """Time between two calls of the same feeder, not the main thread, while no other feeder calls."""
        busy = Intervals.union_of_all(self._any)
        starts, ends = busy.ends[:-1], busy.starts[1:]
        others = self.calls.take(self.calls.track != self.feeders[0])
        # Overhead is a call of all feeders. Behind a call that ends where all do, and before one that starts where
        # all do, its thread calls nothing else.
        before, after = (_has(edges, at) for edges, at in ((self.overhead.ends, starts), (self.overhead.starts, ends)))
        ended, started = _pairs(others.ends, starts, others.track), _pairs(others.starts, ends, others.track)
        engine = before & after if len(self.feeders) > 1 else np.zeros(starts.size, np.bool_)
        engine[started[0][before[started[0]]]] = True
        engine[ended[0][after[ended[0]]]] = True
        engine[_both(ended, started)] = True
        return Intervals.union_of(starts[engine], ends[engine])


@dataclass(frozen=True, slots=True, eq=False)
class _Labelled:
    """Parts of intervals with the layer that covers each, -1 for none so far, by interval and then by time."""

    starts: Times
    ends: Times
    interval: NDArray[np.int64]
    label: NDArray[np.int64]

    @classmethod
    def of(cls, labels: NDArray[np.int8], overlaid: Overlaid) -> _Labelled:
        starts, ends, interval, tile = overlaid
        return cls(starts, ends, interval, labels[tile].astype(np.int64))

    def cut(self, some: NDArray[np.bool_], starts: Times, ends: Times, labels: NDArray[np.int64]) -> _Labelled:
        """With some of them labelled anew where tiles cover them."""
        at = np.flatnonzero(some)
        if not at.size or not starts.size:
            return self
        lefts, rights, index, tile = overlay(self.starts[at], self.ends[at], starts, ends)
        rest = Intervals.empty()
        if (rights - lefts).sum() < (self.ends[at] - self.starts[at]).sum():
            rest = Intervals(starts, ends).complement(int(self.starts[at].min()), int(self.ends[at].max()))
        left = overlay(self.starts[at], self.ends[at], rest.starts, rest.ends)
        kept = np.flatnonzero(~some)
        parts = (
            (self.starts[kept], self.ends[kept], kept, self.label[kept]),
            (lefts, rights, at[index], labels[tile]),
            (left[0], left[1], at[left[2]], self.label[at[left[2]]]),
        )
        heads, tails, part, label = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((heads, part))
        return _Labelled(heads[order], tails[order], self.interval[part[order]], label[order])

    def merged(self) -> _Labelled:
        """With neighbours of one interval and label joined."""
        apart = (self.interval[1:] != self.interval[:-1]) | (self.label[1:] != self.label[:-1])
        first = np.flatnonzero(np.append(True, apart)[: self.starts.size])
        ends = self.ends[np.append(first[1:] - 1, self.starts.size - 1)[: first.size]]
        return _Labelled(self.starts[first], ends, self.interval[first], self.label[first])


def _has(ascending: Times, values: Times) -> NDArray[np.bool_]:
    """Whether each value is among some others, bool[n]."""
    if not ascending.size:
        return np.zeros(values.size, np.bool_)
    found: NDArray[np.bool_] = ascending[np.minimum(np.searchsorted(ascending, values), ascending.size - 1)] == values
    return found


_Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def _pairs(edges: Times, values: Times, tracks: NDArray[np.int64]) -> _Pairs:
    """Which ascending value each edge is that is one, and its track."""
    if not values.size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(values, edges), values.size - 1)
    equal = values[at] == edges
    return at[equal], tracks[equal]


def _both(one: _Pairs, other: _Pairs) -> NDArray[np.int64]:
    """The values of the pairs that both have."""
    tracks = distinct(np.concatenate((one[1], other[1])))
    width = max(tracks.size, 1)
    left, right = (distinct(values * width + np.searchsorted(tracks, track)) for values, track in (one, other))
    common = np.intersect1d(left, right, assume_unique=True)
    found: NDArray[np.int64] = common // width
    return found


def host_states(trace: Trace) -> HostStates | None:
    """The states of the threads that feed the devices; None if the recording has no host events but marks of steps."""
    events = trace.once(recorded_events)
    if not (events.host & ~events.of(("overhead", "step"))).any():
        return None
    called = events.host & ~events.of(("overhead",))
    recorded = Intervals.union_of([events.first[called].min()], [events.last[called].max()]) if called.any() else None
    feeders = _feeders(trace, events)
    if not recorded or not feeders:
        return None
    calls, overhead = _calls(trace, feeders)
    return HostStates(feeders, calls, overhead, recorded, events.on_host(_OF_PYTHON) > 0)


@dataclass(frozen=True, slots=True)
class _Names:
    """Calls of the runtime by what they do, as ids of names."""

    waits: list[int]
    allocates: list[int]
    slows: list[int]

    @classmethod
    def of(cls, trace: Trace) -> _Names:
        names = names_of(trace, ("runtime", "sync", "launch", "overhead"))
        tests = (runtime_names.is_synchronisation, runtime_names.is_allocation, runtime_names.is_profiler_overhead)
        return cls(*(passing(names, test) for test in tests))


def _called(spans: Spans, some: slice, feeders: tuple[int, ...], names: _Names) -> StateTimes:
    """States of the feeders, and profiler overhead on any thread, as recorded."""
    state, dur = _STATES[spans.category[some]], spans.dur[some]
    at = np.flatnonzero((state >= 0) & (dur > 0))
    state, name, track = state[at], spans.name[some][at], spans.track[some][at]
    overhead = state == OVERHEAD
    # Querying whether the device is done does not wait for it.
    state[(state == SYNC) & ~np.isin(name, names.waits)] = RUNTIME
    state[np.isin(name, names.allocates) & ~overhead] = ALLOCATION
    slowed = overhead & np.isin(name, names.slows)
    mine = np.flatnonzero(slowed | np.isin(track, feeders) & ~overhead)
    ts = spans.ts[some][at[mine]]
    return StateTimes(track[mine].astype(np.int64), state[mine], ts, ts + dur[at[mine]])


def _blocking_copies(trace: Trace, feeders: tuple[int, ...]) -> StateTimes:
    """Copies that blocked their host thread, from the start of the copy to the end of the call."""
    work = DeviceWork.of(trace)
    at = blocking_copies(trace)
    at = at[(work.call_ns[at] >= 0) & np.isin(work.thread[at], feeders)]
    track, ends = work.thread[at].astype(np.int64), work.called[at] + work.call_ns[at]
    return StateTimes(track, np.full(at.size, SYNC, np.int8), work.ts[at], ends)


def _feeders(trace: Trace, events: RecordedEvents) -> tuple[int, ...]:
    """Threads that launch device work, run its operators or run the steps; the one with most steps first.

    In a recording with none of these, the thread that runs most operators.
    """
    step, ops = events.of(("step",)), events.of(("op",)) & events.host
    work = DeviceWork.of(trace)
    launched = ~work.are("sync")
    feeding = np.concatenate((work.thread[launched], work.op_thread[launched], events.track[step]))
    if not feeding.size and ops.any():
        feeding = events.track[ops][[events.number[ops].argmax()]]
    tracks = np.intersect1d(feeding, events.track[events.host])
    mine = np.flatnonzero(np.isin(events.track, tracks))
    place = np.searchsorted(tracks, events.track[mine])
    steps = np.bincount(place, events.number[mine] * step[mine], tracks.size).astype(np.int64)
    first = np.full(tracks.size, np.iinfo(np.int64).max)
    np.minimum.at(first, place, events.first[mine])
    return tuple(tracks[np.lexsort((tracks, first, -steps))].tolist())


def _calls(trace: Trace, feeders: tuple[int, ...]) -> tuple[StateTimes, Intervals]:
    """When each feeder was in each recorded state, and when the profiler delayed any thread."""
    spans, names = Spans(trace), _Names.of(trace)
    calls, delays = [_blocking_copies(trace, feeders)], list[Intervals]()
    for first in range(0, spans.dur.size, SIZES.nested_events):
        rows = _called(spans, slice(first, first + SIZES.nested_events), feeders, names)
        delayed = rows.state == OVERHEAD
        delays.append(Intervals.union_of(rows.starts[delayed], rows.ends[delayed]))
        calls.append(rows.take(~delayed).united())
    return StateTimes.joined(calls).united(), Intervals.union_of_all(delays)
