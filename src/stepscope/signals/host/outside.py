"""What the program does before the device's first work and after its last, where that is most of the recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analyses.idle.host_work import host_work
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.host_states import host_states
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.intervals import Intervals
from stepscope.signals.host.own_work import Doing, asking, told
from stepscope.signals.signal import Signals, signal


@dataclass(frozen=True, slots=True)
class Outside:
    """Long stretches in which the host runs and no device has been used yet, or none is used any more.

    Attributes:
        before: Those before the first work, and what the host does in them.
        after: Those after the last.
        recorded_ns: From the first event to the last.
    """

    before: Doing
    after: Doing
    recorded_ns: int


@signal()
def outside(s: Signals) -> Outside:
    """The host's own work before the devices' first activity and after their last, without waits for somebody else."""
    hosts = s.trace.once(host_states)
    if hosts is None:
        raise MissingInputError("the recording has no host threads", hint="record the host as well as the device")
    devices = s.trace.once(device_times)
    first, last = min(device.first for device in devices), max(device.last for device in devices)
    began, ended = int(hosts.recorded.starts[0]), int(hosts.recorded.ends[-1])
    spans = Spans(s.trace)
    recorded = int((spans.ts + np.maximum(spans.dur, 0)).max() - spans.ts.min())
    found = s.trace.once(host_work) - asking(s)
    return Outside(
        told(s, _long(found.clip(min(began, first), first))),
        told(s, _long(found.clip(last, max(last, ended)))),
        max(recorded, 1),
    )


def _long(found: Intervals) -> Intervals:
    """What is left of stretches once waits are taken out, but for crumbs."""
    long = found.ends - found.starts >= np.int64(1_000_000)
    return Intervals(found.starts[long], found.ends[long])
