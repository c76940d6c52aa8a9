"""A trace narrowed to its typical steps."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.narrow import BY_EVENT, BY_TIME, EVENT_VIEWS, Filter, one_of, times_of_steps
from stepscope.model.events.columns import Spans
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace
from stepscope.store.activities import ACTIVITIES, LAUNCH_COLUMNS

#: So few events outside all steps, as a share of all, change no number that is said of the steps: threads, marks and
#: the profiler's own calls leave some in every recording.
_FEW_OUTSIDE: Final = 0.01


def typical_part(trace: Trace) -> Trace:
    """The trace of one rank narrowed to its typical steps, which everything said per step is about.

    Calls that enclose a typical step are kept, since they tell where its events come from. Step windows are those of
    the whole trace. A trace without anything outside its typical steps is returned as it is.
    """
    steps = Steps.of(trace)
    if not _is_cut(trace, steps):
        return trace
    kept = steps.step[steps.typical].tolist()
    others = _beside(trace, steps)
    listed, launched = one_of("step", kept), one_of("launch_step", kept)
    work = f"({listed} OR {one_of('event', others)})" if others.size else listed
    # Where a run of typical steps begins, on the host.
    first = steps.typical & ~np.append(False, steps.typical[:-1])
    around = " OR ".join(f"(ts < {start} AND ts + dur > {start})" for start in steps.ts[first].tolist())
    host = one_of("track", trace.columns("SELECT track FROM tracks WHERE kind = 'host'")["track"].tolist())
    beside = f" OR {one_of('id', others)}" if others.size else ""
    within = f"({listed} OR (({around}) AND {host}){beside})"
    event = f"SELECT id FROM whole.spans WHERE {within}"
    views = {name: f"SELECT * FROM whole.{name} WHERE {within}" for name in EVENT_VIEWS}
    views["steps"] = "SELECT * FROM whole.steps WHERE typical"
    for name in BY_EVENT:
        views[name] = f"SELECT * FROM whole.{name} WHERE event IN ({event})"
    views["kernels"] = f"SELECT * FROM whole.kernels WHERE {work}"
    launch = [f"CASE WHEN {launched} THEN {column.name} END AS {column.name}" for column in LAUNCH_COLUMNS]
    views[ACTIVITIES.name] = f"SELECT * REPLACE ({', '.join(launch)}) FROM whole.activities WHERE {work}"
    times = times_of_steps(trace, Filter(tuple(kept)))
    for name in BY_TIME:
        views[name] = f"SELECT * FROM whole.{name} WHERE {times}"
    views["flows"] = f"SELECT * FROM whole.flows WHERE source IN ({event}) AND target IN ({event})"
    return trace.narrowed(views)


def _beside(trace: Trace, steps: Steps) -> NDArray[np.int64]:
    """Ids of device work that belongs to no step and runs while a typical one lasts: devices are not idle then."""
    work = DeviceWork.of(trace)
    free = np.flatnonzero((work.step < 0) & ~work.are("sync"))
    mine = Intervals.union_of(steps.start[steps.typical], steps.end[steps.typical])
    inside = mine.within(work.ts[free], work.ts[free] + work.dur[free]) > 0
    return work.event[free[inside]]


def _is_cut(trace: Trace, steps: Steps) -> bool:
    """Whether a noticeable part of the trace lies outside the typical steps."""
    if not steps.typical.any():
        return False
    if not steps.typical.all():
        return True
    outside = np.count_nonzero(Spans(trace).step < 0)
    return bool(outside > _FEW_OUTSIDE * Spans(trace).step.size) or bool((DeviceWork.of(trace).step < 0).any())
