"""The longest idle times of a device, and the work before and after each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.shared.device_time import DeviceTime, device_times, step_windows
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.model.kernel_names import classify
from stepscope.signals.signal import Signals, signal

#: So many of the longest gaps are looked at, those that are not much shorter than the longest; so many kinds are named.
_LOOKED_AT: Final = 100
_ALIKE: Final = 0.2
_MOST: Final = 3
#: An activity of no device has this number.
_NO_DEVICE: Final = -1


@dataclass(frozen=True, slots=True)
class IdleGap:
    """Idle times of a device between the same two kernels.

    Attributes:
        start_ns: Start of the longest, since the trace's origin.
        dur_ns: Length of the longest.
        count: How many they are.
        after: Short name of what ended when it began; empty if nothing ran before.
        before: Short name of what began when it ended; empty if nothing followed.
    """

    start_ns: int
    dur_ns: int
    count: int
    after: str
    before: str


@signal()
def longest_gaps(s: Signals) -> tuple[IdleGap, ...]:
    """The longest idle gaps in typical steps, on the device that is idle least."""
    windows, typical = s.trace.once(step_windows), Steps.of(s.trace).typical_steps
    mine = np.isin(windows.step, typical)
    inside = Intervals.union_of(windows.starts[mine], windows.ends[mine])
    idle = {device.device: (inside - device.busy, device) for device in s.trace.once(device_times)}
    found, device = min(idle.values(), key=lambda one: one[0].total)
    lengths = found.ends - found.starts
    order = np.argsort(-lengths, kind="stable")[:_LOOKED_AT]
    order = order[lengths[order] >= _ALIKE * lengths.max(initial=0)]
    kinds: dict[tuple[str, str], list[int]] = {}
    for at in order.tolist():
        kinds.setdefault(_sides(s, device, int(found.starts[at]), int(found.ends[at])), []).append(at)
    largest = sorted(kinds.items(), key=lambda item: -int(lengths[item[1]].sum()))[:_MOST]
    return tuple(IdleGap(int(found.starts[at[0]]), int(lengths[at[0]]), len(at), *sides) for sides, at in largest)


def _sides(s: Signals, device: DeviceTime, start: int, end: int) -> tuple[str, str]:
    """Names of the work before and after a gap."""
    work, names = DeviceWork.of(s.trace), s.trace.once(names_by_id)
    on = (work.device == (_NO_DEVICE if device.device is None else device.device)) & ~work.are("sync")
    stop = work.ts + work.dur
    earlier, later = np.flatnonzero(on & (stop <= start)), np.flatnonzero(on & (work.ts >= end))
    after = names[int(work.name[earlier[stop[earlier].argmax()]])] if earlier.size else ""
    before = names[int(work.name[later[work.ts[later].argmin()]])] if later.size else ""
    return classify(after).short if after else "", classify(before).short if before else ""
