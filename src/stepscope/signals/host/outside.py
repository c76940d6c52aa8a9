"""Host work outside the steps: before the device's first work, between steps, after its last work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analyses.idle.host_work import host_work
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.host_states import host_states
from stepscope.analyses.shared.host_waits import loader_waits
from stepscope.analyses.shared.needs import has_device
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, on_host
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.signals.host.own_work import Doing, asking, told
from stepscope.signals.host.waits_for_others import Awaited, awaited
from stepscope.signals.shared.job import span_ns
from stepscope.signals.shared.ran_on import ran_on, slow_reads
from stepscope.signals.signal import Signals, signal

#: So many steps at the least tell what lies between two.
_FEW = 4


@dataclass(frozen=True, slots=True)
class Outside:
    """Long host work before the first use of a device, or after the last.

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
    found = s.trace.once(host_work) - asking(s)
    return Outside(
        told(s, _long(found.clip(min(began, first), first))),
        told(s, _long(found.clip(last, max(last, ended)))),
        s(span_ns),
    )


@dataclass(frozen=True, slots=True)
class Between:
    """Time between steps that do not follow each other directly.

    Attributes:
        count: How many times one step follows another.
        idle_ns: Median time between two in which no device does anything.
        period_ns: Mean typical step, and that.
        doing: What the host does in all of these.
        recorded_share: All of them as a share of the recorded time.
        alone: Whether no device is seen, so that the host's operators count for its work.
        awaits: What the host waits for in most of them, where no device is seen.
    """

    count: int
    idle_ns: int
    period_ns: int
    doing: Doing
    recorded_share: float = 0.0
    alone: bool = False
    awaits: Awaited = ""

    @property
    def share(self) -> float:
        """Idle time between steps as a share of the time from one to the next."""
        return self.idle_ns / self.period_ns


@signal()
def between(s: Signals) -> Between:
    """Median idle time of the devices between one step and the next; a job may pause once.

    Without a device, the time in which no operator runs on the host.
    """
    steps = Steps.of(s.trace)
    length = steps.typical_ns
    if length is None or steps.step.size < _FEW or not steps.found.all():
        raise MissingInputError("the recording has too few steps", hint="record some whole steps of the job")
    gaps = Intervals(steps.end[:-1], np.maximum(steps.start[1:], steps.end[:-1]))
    alone = not s.trace.once(has_device)
    busy = (
        host_operators(s) | _awaiting_batches(s)
        if alone
        else Intervals.union_of_all([one.busy for one in s.trace.once(device_times)])
    )
    idle = (gaps.ends - gaps.starts) - busy.within(gaps.starts, gaps.ends)
    usual = int(np.median(idle))
    if not usual:
        return Between(idle.size, 0, length, Doing(Intervals.empty()), alone=alone)
    found = Intervals.union_of(gaps.starts, gaps.ends) - busy
    hosts = s.trace.once(host_states)
    doing = told(s, found) if hosts is not None else Doing(found)
    awaits: Awaited = awaited(s, doing, hosts.feeders[0]) if alone and hosts is not None else ""
    return Between(idle.size, usual, length + usual, doing, found.total / s(span_ns), alone, awaits)


def host_operators(s: Signals) -> Intervals:
    """When operators run, in a recording of a host alone.

    Raises:
        MissingInputError: They may have waited for a device that is not recorded.
    """
    if s(ran_on).where not in ("cpu", "unknown") or s(slow_reads).waited:
        raise MissingInputError.of("device")
    spans = Spans(s.trace)
    at = np.flatnonzero(spans.of("op") & on_host(s.trace, spans.track) & (spans.dur > 0))
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])


def _awaiting_batches(s: Signals) -> Intervals:
    """When a batch is waited for, which rules of its own are about."""
    spans, at = Spans(s.trace), s.trace.once(loader_waits)
    return Intervals.union_of(spans.ts[at], spans.ts[at] + np.maximum(spans.dur[at], 0))


def _long(found: Intervals) -> Intervals:
    """Stretches without the waits inside them, and without short remains."""
    long = found.ends - found.starts >= np.int64(1_000_000)
    return Intervals(found.starts[long], found.ends[long])
