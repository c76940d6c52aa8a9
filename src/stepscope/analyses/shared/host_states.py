"""What the host threads that feed the devices were doing at every instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import blocking_copies
from stepscope.analyses.shared.recorded_events import RecordedEvents, names_of, passing, recorded_events
from stepscope.model import runtime_names
from stepscope.model.categories import CATEGORIES
from stepscope.model.events.columns import Spans
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals, Times
from stepscope.model.partition import partition
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

Columns = dict[str, "NDArray[Any]"]


@dataclass(frozen=True)
class HostStates:
    """The states of the feeders: threads that launch device work, run its operators or run the steps.

    Where operators put their tasks on a queue, the thread that launches them only takes tasks off it.

    Attributes:
        feeders: Their tracks; the main thread first.
        layers: When each feeder was in each recorded state, by track and state.
        recorded: The time from the first host event to the last.
        python: Whether the recording comes from Python.
    """

    feeders: tuple[int, ...]
    layers: dict[int, list[Intervals]]
    recorded: Intervals
    python: bool

    def timeline(self, thread: int, lo: int, hi: int) -> tuple[Times, Times, NDArray[np.int8]]:
        """What delayed the launches of `thread`, as intervals (starts, ends, states) that tile [lo, hi).

        Where the thread itself is idle, the states of the other feeders count: a backward pass is launched by a thread
        of its own, which starts when the main thread hands over. Time between two calls of a feeder other than the main
        thread belongs to the engine that drives it; all other time between calls belongs to the user's code.
        """
        starts, states = self._main_states if thread == self.feeders[0] else self._states(thread)
        inside = slice(np.searchsorted(starts, lo, side="right") - 1, np.searchsorted(starts, hi, side="left"))
        heads = np.maximum(starts[inside], lo)
        return heads, np.append(heads, hi)[1:], states[inside]

    @cached_property
    def _main_states(self) -> tuple[Times, NDArray[np.int8]]:
        """The states of the main thread, kept because several analyses ask for them."""
        return self._states(self.feeders[0])

    def _states(self, thread: int) -> tuple[Times, NDArray[np.int8]]:
        """Starts of the intervals, and their states; the last one never ends."""
        own = self.layers.get(thread, [])
        layers = [*own, *self._any, self._engine, self.recorded]
        engine, user = (OP, PYTHON) if self.python else (OTHER, OTHER)
        states = np.array([*_RECORDED[: len(own)], *_RECORDED, engine, user, SILENT], np.int8)
        known = [layer for layer in layers if len(layer)]
        lo, hi = min(int(layer.starts[0]) for layer in known), max(int(layer.ends[-1]) for layer in known)
        starts, _, labels = partition(layers, lo - 1, hi + 1)
        starts[0] = np.iinfo(np.int64).min
        return starts, states[labels]

    def overhead_timeline(self, lo: int, hi: int) -> tuple[Times, Times, NDArray[np.int64]]:
        """When the profiler delayed the host: intervals (starts, ends, label) tiling [lo, hi), label 1 if it did."""
        return partition([self._any[OVERHEAD]], lo, hi)

    @cached_property
    def _any(self) -> list[Intervals]:
        """When any feeder was in each recorded state."""
        return [Intervals.union_of_all(self.layers[feeder][state] for feeder in self.feeders) for state in _RECORDED]

    @cached_property
    def _engine(self) -> Intervals:
        """Time between two calls of the same feeder, not the main thread, while no other feeder calls."""
        busy = Intervals.union_of_all(self._any)
        starts, ends = busy.ends[:-1], busy.starts[1:]
        engine = np.zeros(starts.size, np.bool_)
        for feeder in self.feeders[1:]:
            own = Intervals.union_of_all(self.layers[feeder])
            engine |= _has(own.ends, starts) & _has(own.starts, ends)
        return Intervals.union_of(starts[engine], ends[engine])


def _has(ascending: Times, values: Times) -> NDArray[np.bool_]:
    """Whether each value is among some others, bool[n]."""
    if not ascending.size:
        return np.zeros(values.size, np.bool_)
    found: NDArray[np.bool_] = ascending[np.minimum(np.searchsorted(ascending, values), ascending.size - 1)] == values
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
    layers = _layers(trace, feeders, _blocking_copies(trace))
    return HostStates(feeders, layers, recorded, events.on_host(_OF_PYTHON) > 0)


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


def _called(spans: Spans, some: slice, feeders: tuple[int, ...], names: _Names) -> Columns:
    """States of the feeders and profiler overhead on any thread, as recorded: track, start, end and state."""
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
    return {"track": track[mine], "ts": ts, "stop": ts + dur[at[mine]], "state": state[mine]}


def _blocking_copies(trace: Trace) -> Columns:
    """Copies that blocked their host thread, from the start of the copy to the end of the call."""
    work = DeviceWork.of(trace)
    at = blocking_copies(trace)
    at = at[work.call_ns[at] >= 0]
    return {"track": work.thread[at], "ts": work.ts[at], "stop": work.called[at] + work.call_ns[at]}


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
    found = []
    for track in np.intersect1d(feeding, events.track[events.host]).tolist():
        mine = events.track == track
        found.append((-int(events.number[mine & step].sum()), int(events.first[mine].min()), track))
    return tuple(track for _, _, track in sorted(found))


def _layers(trace: Trace, feeders: tuple[int, ...], copies: Columns) -> dict[int, list[Intervals]]:
    """When each feeder was in each recorded state; profiler overhead on any thread counts for all of them."""
    spans, names = Spans(trace), _Names.of(trace)
    parts: dict[int, list[list[Intervals]]] = {feeder: [[] for _ in _RECORDED] for feeder in feeders}
    for first in range(0, spans.dur.size, SIZES.nested_events):
        rows = _called(spans, slice(first, first + SIZES.nested_events), feeders, names)
        for feeder, layers in parts.items():
            own = rows["track"] == feeder
            for state in _RECORDED:
                mine = np.flatnonzero((rows["state"] == state) & (own | (state == OVERHEAD)))
                layers[state].append(Intervals.union_of(rows["ts"][mine], rows["stop"][mine]))
    for feeder, layers in parts.items():
        mine = copies["track"] == feeder
        layers[SYNC].append(Intervals.union_of(copies["ts"][mine], copies["stop"][mine]))
    return {feeder: [Intervals.union_of_all(layer) for layer in layers] for feeder, layers in parts.items()}
