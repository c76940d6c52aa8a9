"""Start and end of the time that each step owns, in the recording and under a change."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.stepgraph.building.build import Built
from stepscope.analyses.stepgraph.building.points import END, START
from stepscope.model.intervals import Times


def total_ns(built: Built, ends: Times, took: Times) -> int:
    """Sum of the windows of the counted steps in ns, given the ends and durations of all nodes.

    A recording without steps counts as one step, as long as the devices were in use: the time before and after belongs
    to no step.
    """
    if built.selection.whole and built.device.size:
        return int(ends[built.device].max() - (ends - took)[built.device].min())
    starts, stops = windows(built, ends)
    return int((stops - starts)[built.selection.lead :].sum())


def recorded_ns(built: Built, took: Times) -> int:
    """Total recorded time of the counted steps, ns."""
    if built.selection.whole and built.device.size:
        return total_ns(built, built.graph.nodes.end, took)
    return built.selection.recorded_ns


def windows(built: Built, ends: Times) -> tuple[Times, Times]:
    """Start and end of the time that each step owns, by the same rule as in `step_budget`; int64[steps] each."""
    start, end = _marks(built, ends, START), _marks(built, ends, END)
    last = _last_activity(built, ends)
    if start is None or end is None:
        return _windows_of_devices(built, last)
    stops = np.maximum(end, last)
    # Work of before the recording may be in the way of several steps.
    starts = np.maximum(start, built.selection.floor)
    starts[1:] = np.maximum(starts[1:], np.maximum.accumulate(stops)[:-1])
    return starts, np.maximum(stops, starts)


def devices_ns(built: Built, ends: Times) -> int:
    """Sum of the counted steps as the devices alone show them, in ns."""
    starts, stops = _windows_of_devices(built, _last_activity(built, ends))
    return int((stops - starts)[built.selection.lead :].sum())


def _windows_of_devices(built: Built, last: Times) -> tuple[Times, Times]:
    """Where no thread is recorded, a step ends as long after its last activity as it did, and so the next one starts.

    A step without activities goes on from where the step before it did.
    """
    selection = built.selection
    recorded, now = (
        np.maximum.accumulate(np.maximum(ends, selection.starts[0]))
        for ends in (_last_activity(built, built.graph.nodes.end), last)
    )
    stops = np.maximum.accumulate(np.maximum(selection.ends, recorded))
    starts = np.maximum(selection.starts, selection.floor)
    starts[1:] = np.maximum(starts[1:], stops[:-1])
    moved = now - recorded
    start = np.concatenate((starts[:1], starts[1:] + moved[:-1]))
    return start, np.maximum(stops + moved, start)


def _last_activity(built: Built, ends: Times) -> Times:
    """End of each step's last activity, int64[steps]; the smallest int64 if it has none."""
    steps = built.selection.step
    last = np.full(steps.size, np.iinfo(np.int64).min)
    known = np.flatnonzero(np.isin(built.activities.step, steps))
    order = np.argsort(steps, kind="stable")
    mine = order[np.searchsorted(steps, built.activities.step[known], sorter=order)]
    np.maximum.at(last, mine, ends[built.device[known]])
    return last


def _marks(built: Built, ends: Times, kind: int) -> Times | None:
    """Start or end of each step on the host; None if no thread is recorded."""
    points = np.flatnonzero(built.points.kind == kind)
    if not points.size:
        return None
    ordered = points[np.argsort(built.points.at[points], kind="stable")]
    marks: Times = ends[built.host[ordered]]
    return marks
