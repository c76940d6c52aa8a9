"""Kernels that prepare inputs on the NPU."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.steps.phase_names import BACKWARD, PHASES
from stepscope.analyses.steps.phases import phase_of_work
from stepscope.model.events.device_work import DeviceWork
from stepscope.signals.ascend.npu_kernels import NpuKernels, kernels
from stepscope.signals.shared.job import step_share
from stepscope.signals.signal import Signals, signal


@signal()
def preparing(s: Signals) -> NpuKernels:
    """Compute kernels of complete steps that are launched while inputs are prepared, before the step's backward pass.

    Without marks of the loader, what runs between the update and the next copy of inputs, such as means of weights,
    looks like preparing them.
    """
    work, phase = DeviceWork.of(s.trace), s.trace.once(phase_of_work)
    mine = np.isin(phase, [PHASES.index(name) for name in ("preprocessing", "data_loading")])
    back = (phase == BACKWARD) & work.launched & (work.call_step >= 0)
    first = np.full(int(work.call_step.max(initial=-1)) + 2, np.iinfo(np.int64).max)
    np.minimum.at(first, work.call_step[back], work.called[back])
    mine &= work.called < first[work.call_step]
    found = s(kernels)
    return found.where(np.isin(found.event, work.event[mine]))


@signal("share")
def preparing_share(s: Signals) -> float:
    """Their time as a share of the mean step."""
    return step_share(s, float(s(preparing).dur.sum()))
