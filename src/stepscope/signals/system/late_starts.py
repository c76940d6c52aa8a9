"""Work that starts late on a device that, by the recording, has nothing to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.idle import idle_gaps
from stepscope.analyses.idle.idle_gaps import activities, find_gaps, stream_waits
from stepscope.analyses.shared.device_time import device_times, step_windows
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.signal import Signals, signal

#: A launch to an idle device takes some microseconds until its work starts.
LATE_NS: Final = 100_000


@dataclass(frozen=True, slots=True)
class LateStarts:
    """Work in typical steps that starts late although its queue is empty, on the device that is idle least.

    Attributes:
        count: How many, but for kernels that are used for the first time.
        per_step_ns: Time between the end of their launches and their start, per step.
        least_ns: The shortest of these times.
        longest_ns: The longest.
        usual_ns: Median of that time for all other work that was launched to an idle device; 0 without any.
        found: These times.
    """

    count: int
    per_step_ns: int
    least_ns: int
    longest_ns: int
    usual_ns: int
    found: Intervals


@signal()
def late_starts(s: Signals) -> LateStarts:
    """Work that starts late on an idle device, without an event or another queue that it could wait for."""
    rows, waits, windows = activities(s.trace), stream_waits(s.trace), s.trace.once(step_windows)
    typical = np.isin(windows.step, Steps.of(s.trace).typical_steps)
    inside = Intervals.union_of(windows.starts[typical], windows.ends[typical])
    best: LateStarts | None = None
    for device in s.trace.once(device_times):
        mine = rows["device"] == (-1 if device.device is None else device.device)
        gaps = find_gaps({name: one[mine] for name, one in rows.items()}, waits, device.first, device.last)
        launched = gaps.started & (gaps.thread >= 0) & np.isin(gaps.why, (idle_gaps.EMPTY_QUEUE, idle_gaps.DELAYED))
        # The nodes of a graph wait for each other, and for nodes of the host that are not recorded.
        launched &= ~gaps.inner
        launched &= inside.within(gaps.call_ends, gaps.ends) > 0
        took = gaps.ends - gaps.call_ends
        late = launched & (took >= LATE_NS) & ~gaps.fresh
        others = took[launched & (took < LATE_NS)]
        found = Intervals.union_of(gaps.call_ends[late], gaps.ends[late]) & inside
        least, longest = (int(took[late].min()), int(took[late].max())) if late.any() else (0, 0)
        usual = int(np.median(others)) if others.size else 0
        one = LateStarts(int(late.sum()), found.total // s(recorded_steps), least, longest, usual, found)
        if best is None or one.per_step_ns < best.per_step_ns:
            best = one
    return best or LateStarts(0, 0, 0, 0, 0, Intervals.empty())
