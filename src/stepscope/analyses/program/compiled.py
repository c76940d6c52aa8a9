"""Whether a graph compiler made the device's kernels, and whether they are replayed from graphs."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.program import marks
from stepscope.analyses.shared.recorded_events import names_of, passing, recorded_events
from stepscope.model.events.columns import Spans, named
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace

#: Less than this is a helper inside a program that is not compiled.
_MOSTLY: Final = 0.4


def compiled_share(trace: Trace) -> float | None:
    """Share of compute kernels that come from compiled graphs, by time or by number, whichever is larger.

    None where neither operators nor kernel names tell.
    """
    work = DeviceWork.of(trace)
    computing = work.are("compute")
    if not computing.any():
        return None
    compiled = passing(names_of(trace, ("kernel",)), lambda name: bool(marks.COMPILED_KERNEL.search(name)))
    written = np.isin(work.name, compiled)
    made = (written | _launched_inside(trace)) & computing
    if not made.any() and not trace.once(recorded_events).names(("op",)):
        return None
    total = int(work.dur[computing].sum())
    return max(float(made.sum() / computing.sum()), float(work.dur[made].sum() / max(total, 1)))


def is_mostly(share: float | None) -> bool | None:
    """Whether a share exceeds one half; None if it is unknown."""
    return None if share is None else share >= _MOSTLY


def graph_share(trace: Trace) -> float:
    """Compute kernels that graphs replay, as a share of all by number."""
    work = DeviceWork.of(trace)
    computing = work.are("compute")
    return float((work.in_graph & computing).sum() / max(computing.sum(), 1))


def _launched_inside(trace: Trace) -> NDArray[np.bool_]:
    """Which device activities were launched while a compiled graph ran on the same thread, bool[n]."""
    work, spans = DeviceWork.of(trace), Spans(trace)
    inside = np.zeros(work.event.size, np.bool_)
    regions = np.flatnonzero(named(trace, marks.COMPILED_REGION.search) & (spans.dur > 0))
    for track in np.unique(spans.track[regions]).tolist():
        mine = regions[spans.track[regions] == track]
        covered = Intervals.union_of(spans.ts[mine], spans.ts[mine] + spans.dur[mine])
        launched = np.flatnonzero(work.launched & (work.thread == track))
        inside[launched] = covered.at(work.called[launched])
    return inside
