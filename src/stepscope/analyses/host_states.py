"""What the host threads that feed the devices were doing at every instant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.recorded_events import RecordedEvents, listed, names_of, passing, recorded_events
from stepscope.model import runtime_names
from stepscope.model.intervals import Intervals, Times, partition
from stepscope.model.trace import Trace

#: States, the most telling first: a thread is in the first one that covers an instant.
SYNC, ALLOCATION, GC, OVERHEAD, DATA, RUNTIME, OP = range(7)
#: Between recorded calls: in the user's Python, in code of an unknown language, or before or after the recording.
PYTHON, OTHER, SILENT = range(7, 10)

_RECORDED = (SYNC, ALLOCATION, GC, OVERHEAD, DATA, RUNTIME, OP)

_FEEDERS_SQL = """
SELECT launch_track AS track FROM activities WHERE kind <> 'sync' AND launch_track IS NOT NULL
UNION SELECT op_track FROM activities WHERE kind <> 'sync' AND op_track IS NOT NULL
"""
_STATES_SQL = """
SELECT track, ts, ts + dur AS stop, (CASE
    WHEN category = 'overhead' THEN 3
    WHEN name_id IN {allocations} THEN 1
    WHEN category = 'sync' AND name_id NOT IN {queries} THEN 0
    WHEN category = 'gc' THEN 2
    WHEN category = 'dataloader' THEN 4
    WHEN category = 'op' THEN 6
    ELSE 5 END)::TINYINT AS state
FROM spans WHERE dur > 0 AND (
    category IN ('sync', 'gc', 'dataloader', 'runtime', 'launch', 'queue', 'op') AND track IN {threads}
    OR category = 'overhead' AND name_id IN {overheads})
"""
# A copy to or from pageable memory, or by a call that always waits, blocks the host until it is done. That is told
# only by the call ending after the copy: small pageable copies to the device return at once.
_BLOCKING_COPIES_SQL = """
SELECT k.launch_track AS track, k.ts, k.launch_ts + k.launch_dur AS stop
FROM activities k LEFT JOIN copies c ON c.event = k.event
WHERE k.kind = 'copy' AND k.launch_ts + k.launch_dur >= k.ts + k.dur
    AND ('pageable' IN (c.src_kind, c.dst_kind) OR k.launch_name_id IN {blocking})
"""
#: What only a recording of Python has.
_OF_PYTHON = ("step", "op", "python", "module", "dataloader")


@dataclass(frozen=True)
class HostStates:
    """The states of the feeders: threads that launch device work, run its operators or run the steps.

    Where operators put their tasks on a queue, the thread that launches them only takes them off.

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

    def timeline(self, thread: int, lo: int, hi: int) -> tuple[Times, Times, NDArray[np.int64]]:
        """What held up the launches of `thread`, as pieces (starts, ends, states) that tile [lo, hi).

        Where the thread itself does nothing, whatever the other feeders do counts: the backward pass is launched
        by a thread of its own, which starts when the main thread hands over. Time between two calls of a feeder
        other than the main thread is the engine's that drives it; all other time between calls is the user's.
        """
        own = self.layers.get(thread, [])
        layers = [*own, *self._any, self._engine, self.recorded]
        engine, user = (OP, PYTHON) if self.python else (OTHER, OTHER)
        states = [*_RECORDED[: len(own)], *_RECORDED, engine, user, SILENT]
        starts, ends, labels = partition(layers, lo, hi)
        return starts, ends, np.array(states)[labels]

    def overhead_timeline(self, lo: int, hi: int) -> tuple[Times, Times, NDArray[np.int64]]:
        """When the profiler held up the host: pieces (starts, ends, label) that tile [lo, hi), label 0 if it did."""
        return partition([self._any[OVERHEAD]], lo, hi)

    @cached_property
    def _any(self) -> list[Intervals]:
        """When any feeder was in each recorded state."""
        return [reduce(or_, (self.layers[f][s] for f in self.feeders), Intervals.empty()) for s in _RECORDED]

    @cached_property
    def _engine(self) -> Intervals:
        """Time between two calls of the same feeder, not the main thread, while no other feeder calls."""
        busy = reduce(or_, self._any, Intervals.empty())
        starts, ends = busy.ends[:-1], busy.starts[1:]
        engine = np.zeros(starts.size, np.bool_)
        for feeder in self.feeders[1:]:
            own = reduce(or_, self.layers[feeder], Intervals.empty())
            engine |= np.isin(starts, own.ends) & np.isin(ends, own.starts)
        return Intervals.union_of(starts[engine], ends[engine])


def host_states(trace: Trace) -> HostStates | None:
    """The states of the threads that feed the devices; None if the recording has no host events."""
    events = trace.once(recorded_events)
    called = events.host & ~events.of(("overhead",))
    recorded = Intervals.union_of([events.first[called].min()], [events.last[called].max()]) if called.any() else None
    feeders = _feeders(trace, events)
    if not recorded or not feeders:
        return None
    names = names_of(trace, ("runtime", "sync", "launch", "overhead"))

    def chosen(test: Callable[[str], bool]) -> str:
        return listed(passing(names, test))

    rows = trace.columns(
        _STATES_SQL.format(
            threads=listed(feeders),
            allocations=chosen(runtime_names.is_allocation),
            queries=chosen(lambda name: not runtime_names.is_synchronisation(name)),
            overheads=chosen(runtime_names.is_profiler_overhead),
        )
    )
    copies = trace.columns(_BLOCKING_COPIES_SQL.format(blocking=chosen(runtime_names.is_blocking_copy)))
    layers = {feeder: _layers(feeder, rows, copies) for feeder in feeders}
    return HostStates(feeders, layers, recorded, events.on_host(_OF_PYTHON) > 0)


def _feeders(trace: Trace, events: RecordedEvents) -> tuple[int, ...]:
    """Threads that launch device work, run its operators or run the steps; the one with most steps first."""
    step = events.of(("step",))
    feeding = np.union1d(trace.columns(_FEEDERS_SQL)["track"], events.track[step])
    found = []
    for track in np.intersect1d(feeding, events.track[events.host]).tolist():
        mine = events.track == track
        found.append((-int(events.number[mine & step].sum()), int(events.first[mine].min()), track))
    return tuple(track for _, _, track in sorted(found))


def _layers(feeder: int, rows: dict[str, NDArray[Any]], copies: dict[str, NDArray[Any]]) -> list[Intervals]:
    """When a feeder was in each recorded state; the profiler holds up every thread, whichever it works on."""
    own = rows["track"] == feeder
    layers = []
    for state in _RECORDED:
        mine = np.flatnonzero((rows["state"] == state) & (own | (state == OVERHEAD)))
        layers.append(Intervals.union_of(rows["ts"][mine], rows["stop"][mine]))
    mine = copies["track"] == feeder
    layers[SYNC] |= Intervals.union_of(copies["ts"][mine], copies["stop"][mine])
    return layers
