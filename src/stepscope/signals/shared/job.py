"""The job: its steps, its devices, and the platform that advice is for."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.model.devices import DESCRIPTION, Device, described
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.signals.shared.program import program
from stepscope.signals.signal import Signals, signal

_DEVICE_SQL: Final = f"""
SELECT {DESCRIPTION} FROM devices WHERE name IS NOT NULL ORDER BY used DESC, device LIMIT 1
"""


@signal("ns")
def step_ns(s: Signals) -> int:
    """Mean length of a typical step, from the end of earlier steps' work to the end of its own, ns."""
    length = Steps.of(s.trace).typical_ns
    if length is None:
        raise MissingInputError("the recording has no complete step", hint="record at least two whole steps")
    return length


@signal("count")
def steps(s: Signals) -> int:
    """Number of complete steps; 0 if the trace counts as one step because none were found."""
    return int(np.count_nonzero(Steps.of(s.trace).whole))


@signal()
def stepless(s: Signals) -> bool:
    """Whether no steps were found, so that the trace counts as one."""
    found = Steps.of(s.trace).found
    return bool(found.size and not found.any())


@signal("count")
def recorded_steps(s: Signals) -> int:
    """Number of steps including partial ones, or 1 for a trace that counts as one step; at least 1."""
    return max(Steps.of(s.trace).step.size, 1)


@signal("ns")
def recorded_ns(s: Signals) -> int:
    """Length of all recorded steps, the base of shares of what is summed over the recording, ns; at least 1."""
    length = s.maybe(step_ns)
    if length is not None:
        return max(length * s(recorded_steps), 1)
    return max(int(s.trace.scalar("SELECT max(ts + coalesce(dur, 0)) - min(ts) FROM spans") or 0), 1)


@signal("ratio")
def spread(s: Signals) -> float:
    """Compute time of all devices of the rank over that of the busiest of them: 1 for one device, 2 for two alike."""
    work = DeviceWork.of(s.trace)
    computing = work.are("compute")
    each = np.bincount(work.device[computing] + 1, np.maximum(work.dur[computing], 0))
    return max(float(each.sum()) / max(float(each.max(initial=0.0)), 1.0), 1.0)


def per_step(s: Signals, ns: float) -> int:
    """Time of kernels on all devices of the rank as that of the busiest of them, which is part of a step, ns per step.

    Dividing by `spread` keeps it within what that device computes in a step, whatever kernels are asked about.
    """
    return int(ns / (s.maybe(spread) or 1.0)) // s(recorded_steps)


def step_share(s: Signals, ns: float) -> float:
    """The same as a share of the steps."""
    return float(ns) / (s.maybe(spread) or 1.0) / s(recorded_ns)


@signal("ns")
def span_ns(s: Signals) -> int:
    """Length of the recording, from its first event to the end of its last; at least 1."""
    spans = Spans(s.trace)
    if not spans.ts.size:
        return 1
    return max(int((spans.ts + np.maximum(spans.dur, 0)).max() - spans.ts.min()), 1)


@signal()
def device(s: Signals) -> Device | None:
    """The device in use: from the table, else with rates derived from its description; None if neither is known."""
    rows = s.trace.rows(_DEVICE_SQL)
    return described(rows[0]) if rows else None


@signal()
def platform(s: Signals) -> str:
    """The platform that advice is for: cuda, rocm, npu, xpu, mtia, cpu (no device work) or other."""
    return s(program).platform


@signal()
def infers(s: Signals) -> bool:
    """Whether the job only infers: it runs GEMMs, and nothing that only training runs."""
    return s(program).infers
