"""Idle time of the device by cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.signals.signal import Signals, signal

#: Details of `host_dispatch` that launching less would not change.
_APART: Final = ("host_work", "first_use")


@dataclass(frozen=True, slots=True)
class LeastIdle:
    """The device that is idle least in the typical steps.

    Attributes:
        steps: Its typical steps.
        total_ns: Their length.
        causes: Idle time in them by cause, ns; `host_work` and `first_use` count apart from `host_dispatch`.
    """

    steps: int
    total_ns: int
    causes: Mapping[str, int]


@signal()
def least_idle(s: Signals) -> LeastIdle:
    """The device that is idle least in the typical steps, with its idle time by cause."""
    typical = set(Steps.of(s.trace).typical_steps.tolist())
    budget = [row for row in s.table("step_budget").records() if row["step"] in typical]
    if not budget:
        raise MissingInputError("the recording has no complete step", hint="record at least two whole steps")
    totals: dict[int | None, list[int]] = {}
    for row in budget:
        total = totals.setdefault(row["device"], [0, 0, 0])
        total[0] += 1
        total[1] += row["total_ns"]
        total[2] += row["idle_ns"]
    device, (steps, length, _) = min(totals.items(), key=lambda item: (item[1][2] / max(item[1][1], 1), item[0] or 0))
    found: Counter[str] = Counter()
    for row in s.table("idle_causes").records():
        if row["device"] == device and row["step"] in typical:
            found[row["detail"] if row["detail"] in _APART else row["cause"]] += row["total_ns"]
    return LeastIdle(steps, length, found)


@signal()
def causes(s: Signals) -> Mapping[str, float]:
    """Idle time by cause as a share of the typical steps, on the device that is idle least.

    The host's own work (`host_work`) and first uses of kernels (`first_use`) count apart from `host_dispatch`.
    """
    device = s(least_idle)
    return {cause: total / max(device.total_ns, 1) for cause, total in device.causes.items()}


@signal("ns")
def data_wait_idle_ns(s: Signals) -> int:
    """Idle time per typical step of the least idle device while the host waits for a batch, ns."""
    device = s(least_idle)
    return round(device.causes.get("data_wait", 0) / device.steps)


@signal("share")
def waiting_for_host_share(s: Signals) -> float:
    """Share of typical steps in which the least idle device waits for the host to dispatch or launch."""
    found = s(causes)
    return found.get("host_dispatch", 0.0) + found.get("launch_latency", 0.0)
