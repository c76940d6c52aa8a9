"""Idle time of the device by cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.signals.shared.job import step_ns
from stepscope.signals.signal import Signals, signal

#: Details of `host_dispatch` that launching less would not change.
_APART: Final = ("host_work", "first_use")


@signal()
def causes(s: Signals) -> Mapping[str, float]:
    """Idle time by cause as a share of the typical steps, on the device that is idle least.

    The host's own work (`host_work`) and first uses of kernels (`first_use`) count apart from `host_dispatch`.
    """
    typical = set(Steps.of(s.trace).typical_steps.tolist())
    budget = [row for row in s.table("step_budget").records() if row["step"] in typical]
    if not budget:
        raise MissingInputError("the recording has no complete step", hint="record at least two whole steps")
    totals: dict[int | None, list[int]] = {}
    for row in budget:
        total = totals.setdefault(row["device"], [0, 0])
        total[0] += row["total_ns"]
        total[1] += row["idle_ns"]
    device, (length, _) = min(totals.items(), key=lambda item: (item[1][1] / max(item[1][0], 1), item[0] or 0))
    found: dict[str, float] = {}
    for row in s.table("idle_causes").records():
        if row["device"] == device and row["step"] in typical:
            cause = row["detail"] if row["detail"] in _APART else row["cause"]
            found[cause] = found.get(cause, 0.0) + row["total_ns"] / max(length, 1)
    return found


@signal("ns")
def data_wait_idle_ns(s: Signals) -> int:
    """Idle time per typical step of the least idle device while the host waits for a batch, ns."""
    return round(s(causes).get("data_wait", 0.0) * s(step_ns))


@signal("share")
def waiting_for_host_share(s: Signals) -> float:
    """Share of typical steps in which the least idle device waits for the host to dispatch or launch."""
    found = s(causes)
    return found.get("host_dispatch", 0.0) + found.get("launch_latency", 0.0)
