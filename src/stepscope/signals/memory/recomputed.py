"""Activations that the backward pass computes again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.steps.phase_marks import phase_marks
from stepscope.analyses.steps.phase_names import RECOMPUTATION
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.signals.shared.job import step_ns, steps
from stepscope.signals.signal import Signals, signal


@signal()
def recomputing(s: Signals) -> NDArray[np.int64]:
    """Kernels that compute activations again, by event: computing launched in `recomputation` of `phases`."""
    work, marks = DeviceWork.of(s.trace), s.trace.once(phase_marks)
    mine = np.flatnonzero(work.are("compute") & work.launched)
    found: NDArray[np.int64] = work.event[mine[marks.layers[RECOMPUTATION].at(work.called[mine])]]
    return found


@signal("ns")
def recomputed_ns(s: Signals) -> int:
    """Time per step in which such kernels run."""
    work = DeviceWork.of(s.trace)
    mine = np.isin(work.event, s(recomputing))
    return Intervals.union_of(work.ts[mine], work.ts[mine] + work.dur[mine]).total // max(s(steps), 1)


@signal("share")
def recomputed_share(s: Signals) -> float:
    """`recomputed_ns` as a share of the mean step."""
    return s(recomputed_ns) / s(step_ns)
