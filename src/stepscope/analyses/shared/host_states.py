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
from stepscope.model.intervals import Intervals, Times
from stepscope.model.partition import partition
from stepscope.model.sizes import SIZES
from stepscope.model.trace import Trace
from stepscope.native.common import common
from stepscope.native.cutting import Layers, cut
from stepscope.native.states import CLASSES, EventColumns, StateTables, states

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
#: What only a recording of Python has.
_OF_PYTHON = ("step", "op", "python", "module", "dataloader")


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
        tracks = np.sort(np.array(self.feeders, np.int64))
        lane = np.searchsorted(tracks, np.where(np.isin(threads, tracks), threads, self.feeders[0]))
        found = cut(self._layers, lane.astype(np.int32), starts, ends)
        engine, user = (OP, PYTHON) if self.python else (OTHER, OTHER)
        of_layer = np.array([*_RECORDED, *_RECORDED, engine, user, SILENT], np.int8)
        return StateParts(found[0], found[1], found[2].astype(np.int64), of_layer[found[3]])

    def prepare(self) -> None:
        """Compute what `cut` needs, ahead of it."""
        _ = self._layers

    def overhead_timeline(self, lo: int, hi: int) -> tuple[Times, Times, NDArray[np.int64]]:
        """When the profiler delayed the host: intervals (starts, ends, label) tiling [lo, hi), label 0 if it did."""
        return partition([self.overhead], lo, hi)

    @cached_property
    def _layers(self) -> Layers:
        """The feeders' own states, overhead, and what feeders that are idle themselves wait for."""
        tracks, number = np.sort(np.array(self.feeders, np.int64)), len(_RECORDED)
        own, main = StateTiles.of(self.calls, tracks), int(np.searchsorted(tracks, self.feeders[0]))
        edges = np.append(np.iinfo(np.int64).min, np.stack((self.overhead.starts, self.overhead.ends), 1).reshape(-1))
        delays = np.where(np.arange(edges.size) % 2, OVERHEAD, -1).astype(np.int8)
        found = common(
            main,
            np.append(own.behind, own.starts.size + edges.size).astype(np.int32),
            (own.starts, edges),
            (own.state, delays),
            number,
            (int(self.recorded.starts[0]), int(self.recorded.ends[-1])),
        )
        return Layers(
            own.behind, own.starts, own.state, self.overhead.starts, self.overhead.ends, OVERHEAD, *found, number
        )


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


def _tables(trace: Trace, feeders: tuple[int, ...]) -> StateTables:
    """What tells the state of an event: its category and what its name says, on threads that are feeders."""
    names = names_of(trace, ("runtime", "sync", "launch", "overhead"))
    tests = (runtime_names.is_synchronisation, runtime_names.is_allocation, runtime_names.is_profiler_overhead)
    classes = np.zeros(max((name_id for name_id, _ in names), default=-1) + 1, np.uint8)
    for bit, test in enumerate(tests):
        classes[passing(names, test)] |= 1 << bit
    said = [[bool(one >> bit & 1) for bit in range(len(tests))] for one in range(CLASSES)]
    kinds = np.array([[_state(category, *told) for told in said] for category in CATEGORIES], np.int8)
    tracks = np.sort(np.array(feeders, np.int64))
    places = np.full(int(tracks[-1]) + 1, -1, np.int32)
    places[tracks] = np.arange(tracks.size)
    return StateTables(kinds, classes, places, tracks.size, len(_RECORDED), OVERHEAD)


def _state(category: str, waits: bool, allocates: bool, slows: bool) -> int:
    """The state that an event of a category and such a name stands for, -1 for none."""
    state = _OF_CATEGORY.get(category, -1)
    if state == OVERHEAD:
        return OVERHEAD if slows else -1
    if state >= 0 and allocates:
        return ALLOCATION
    # Querying whether the device is done does not wait for it.
    return RUNTIME if state == SYNC and not waits else state


def _blocking_copies(trace: Trace, feeders: tuple[int, ...]) -> tuple[NDArray[np.int32], Times, Times]:
    """Threads, starts and ends of copies that blocked a feeder, from the start of the copy to the end of the call."""
    work = DeviceWork.of(trace)
    at = blocking_copies(trace)
    at = at[(work.call_ns[at] >= 0) & np.isin(work.thread[at], feeders)]
    return work.thread[at], work.ts[at], work.called[at] + work.call_ns[at]


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
    spans, tables = Spans(trace), _tables(trace, feeders)
    copy_track, starting, returned = _blocking_copies(trace, feeders)
    events = EventColumns(spans.category, spans.ts, spans.dur, spans.name, spans.track)
    found, unsorted = states(tables, events, SIZES.nested_events)
    tracks = np.sort(np.array(feeders, np.int64))
    for place, track in enumerate(tracks.tolist()):
        if (mine := copy_track == track).any():
            found[place * tables.width + SYNC].append((starting[mine], returned[mine]))
            unsorted[place * tables.width + SYNC] = True
    for group in np.flatnonzero(unsorted).tolist():
        united = Intervals.union_of(*map(np.concatenate, zip(*found[group], strict=True)))
        found[group] = [(united.starts, united.ends)]
    [*calls, delays] = found
    number = np.array([sum(starts.size for starts, _ in parts) for parts in calls], np.int64)
    track, state = np.repeat(tracks, tables.width), np.tile(np.arange(tables.width, dtype=np.int8), tracks.size)
    starts, ends = _joined([part for parts in calls for part in parts])
    return StateTimes(np.repeat(track, number), np.repeat(state, number), starts, ends), Intervals(*_joined(delays))


def _joined(parts: list[tuple[Times, Times]]) -> tuple[Times, Times]:
    """All intervals one after the other."""
    starts, ends = (np.concatenate([np.zeros(0, np.int64), *(part[edge] for part in parts)]) for edge in (0, 1))
    return starts, ends
