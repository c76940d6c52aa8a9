"""The exclusive time of each device activity in a side's steps, so that sums by any key add up to the step's parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.parts.batches import StepBatches
from stepscope.comparison.side import ComparedSide
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals, Times

#: Parts of a step that activities make up, in the order in which they count.
BUSY: Final = ("compute", "exposed_communication", "exposed_copy")


@dataclass(frozen=True, slots=True, eq=False)
class ChargedWork:
    """The n activities of a rank's `DeviceWork`, with the time that each alone accounts for.

    Of compute kernels that overlap, the one that started first counts; a collective counts where no kernel computes, a
    copy where neither does. So the times of each part add up to that part of `step_budget`, summed over the steps and
    devices of the side.

    Attributes:
        work: The activities.
        ns: int64[n], within the side's steps; 0 outside.
        part: int8[n], position in `BUSY`; -1 for waits of queues.
        inside: bool[n], whether the activity starts within the side's steps.
        batch: int64[n], batch of steps that it belongs to.
        batches: The batches.
        of_steps: Whether the side has steps.
    """

    work: DeviceWork
    ns: Times
    part: NDArray[np.int8]
    inside: NDArray[np.bool_]
    batch: NDArray[np.int64]
    batches: StepBatches
    of_steps: bool


def charged(side: ComparedSide) -> ChargedWork:
    """Charge every activity of a side."""
    work, steps = DeviceWork.of(side.trace), Steps.of(side.trace)
    chosen = np.isin(steps.step, side.steps)
    windows = Intervals.union_of(steps.start[chosen], steps.end[chosen])
    kinds = [work.are("compute"), work.are("comm"), work.are("copy", "set")]
    part = np.select(kinds, range(len(BUSY)), -1).astype(np.int8)
    ns = np.zeros(work.ts.size, np.int64)
    for device in np.unique(work.device).tolist():
        free = windows
        for kind in range(len(BUSY)):
            at = np.flatnonzero((work.device == device) & (part == kind))
            if not at.size:
                continue
            at = at[np.lexsort((work.event[at], work.ts[at]))]
            ends = work.ts[at] + work.dur[at]
            before = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(ends)[:-1])
            starts = np.maximum(work.ts[at], before)
            ns[at] = free.within(starts, np.maximum(ends, starts))
            free -= Intervals.union_of(work.ts[at], ends)
    batches = StepBatches.of(side)
    return ChargedWork(work, ns, part, windows.at(work.ts), batches.at(work.ts), batches, side.unit == "step")
