"""What is copied to the device before it is used for the first time, as when a model is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.signals.copies.transfers import HTOD, transfers
from stepscope.signals.shared.job import span_ns
from stepscope.signals.signal import Signals, signal

#: What any model runs; what precedes it casts, fills or quantises weights.
_HEAVY: Final = ("gemm", "convolution", "attention")


@dataclass(frozen=True, slots=True)
class LoadedWeights:
    """Copies to the devices before the first kernel that computes with them.

    Attributes:
        events: int64[n], the longest ones.
        count: How many.
        bytes: In all.
        start: Of the first call or copy, ns.
        end: Of the last copy.
        later_bytes: What is copied to the devices after that.
        computing_ns: Time in that in which the devices compute.
        recorded_ns: From the first event to the last.
    """

    events: NDArray[np.int64]
    count: int
    bytes: int
    start: int
    end: int
    later_bytes: int
    computing_ns: int
    recorded_ns: int

    @property
    def taken_ns(self) -> int:
        """From the first of them to the last."""
        return self.end - self.start


@signal()
def loaded(s: Signals) -> LoadedWeights:
    """Copies from the host before the devices multiply, convolve or attend for the first time."""
    work, found = DeviceWork.of(s.trace), s(transfers)
    heavy = np.flatnonzero(work.is_class(*_HEAVY) & work.are("compute"))
    sent = found.where(found.to(HTOD))
    if not heavy.size or not sent.event.size:
        raise MissingInputError("nothing is copied to the device and then computed with", hint="nothing is missing")
    first = int(work.ts[heavy].min())
    before = sent.where(sent.ts + sent.dur <= first)
    later = int(sent.bytes.sum() - before.bytes.sum())
    if not before.event.size:
        return LoadedWeights(before.event, 0, 0, first, first, later, 0, s(span_ns))
    called = before.called[before.called >= 0]
    start = min(int(before.ts.min()), int(called.min()) if called.size else first)
    end = int((before.ts + before.dur).max())
    compute = work.are("compute")
    busy = Intervals.union_of(work.ts[compute], work.ts[compute] + work.dur[compute]).clip(start, end)
    size = int(before.bytes.sum())
    return LoadedWeights(before.longest, before.event.size, size, start, end, later, busy.total, s(span_ns))
