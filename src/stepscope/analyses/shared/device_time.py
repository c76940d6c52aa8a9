"""When each device computed, communicated and copied, and the time windows of steps on the devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals, Times
from stepscope.model.trace import Trace

_NO_DEVICE = -1
_STEPS_SQL = 'SELECT step, coalesce(number, -1) AS number, "begin" AS ts, "end" AS stop FROM steps ORDER BY ts, step'


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """When a device worked. Waits of its queues are not work.

    Attributes:
        device: Index; None if the recording does not tell.
        compute: When any compute kernel ran.
        comm: When any collective ran.
        copy: When any copy or memset ran.
        busy: When it did anything.
        first: Start of the first activity.
        last: End of the last activity.
    """

    device: int | None
    compute: Intervals
    comm: Intervals
    copy: Intervals
    busy: Intervals
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class StepWindows:
    """The time window of each step on the devices; windows ascend and do not overlap.

    A window reaches from the step's start on the host, or the end of earlier steps' work, to the end of the last device
    work launched in it (columns `begin` and `end` of `steps`). Time between two steps (evaluation, a checkpoint)
    belongs to neither.

    Attributes:
        step: int32[n], as in `steps`.
        number: int64[n], recorded number, -1 if there is none.
        starts: int64[n].
        ends: int64[n]; equal to the start where earlier steps' work covers a step wholly.
    """

    step: NDArray[np.int32]
    number: NDArray[np.int64]
    starts: Times
    ends: Times


def device_times(trace: Trace) -> list[DeviceTime]:
    """Each device's activity, by device index.

    Raises:
        MissingInputError: Nothing is recorded of any device.
    """
    work = DeviceWork.of(trace)
    waiting, compute, comm = work.are("sync"), work.are("compute"), work.are("comm")
    found = []
    for device in np.unique(work.device).tolist():
        mine = (work.device == device) & ~waiting
        if mine.any():
            ran = [_ran(work, mine & chosen) for chosen in (compute, comm, ~(compute | comm))]
            first, last = int(work.ts[mine].min()), int((work.ts[mine] + work.dur[mine]).max())
            index = None if device == _NO_DEVICE else device
            found.append(DeviceTime(index, ran[0], ran[1], ran[2], Intervals.union_of_all(ran), first, last))
    if not found:
        raise MissingInputError.of("device")
    return found


def _ran(work: DeviceWork, chosen: NDArray[np.bool_]) -> Intervals:
    """When any of the chosen activities ran."""
    ts = work.ts[chosen]
    return Intervals.union_of(ts, ts + work.dur[chosen])


def step_windows(trace: Trace) -> StepWindows:
    """The time window of each step on the devices of the rank."""
    rows = trace.columns(_STEPS_SQL)
    starts, ends = rows["ts"], rows["stop"]
    return StepWindows(rows["step"], rows["number"], starts, np.maximum(ends, starts))
