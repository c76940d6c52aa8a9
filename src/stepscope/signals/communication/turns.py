"""Devices of one process that compute one after the other, each idle during the others' turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.shared.device_time import device_times
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals, Times
from stepscope.signals.shared.job import stepless, steps
from stepscope.signals.signal import Signals, signal

#: A device with less than this part of all computing takes no turn: it does something on the side.
_PART: Final = 0.1
#: Fewer steps can't tell turns within a step from one thing done after another.
_STEPS: Final = 2


@dataclass(frozen=True, slots=True)
class Turns:
    """Compute time of a rank's devices in its typical steps.

    Attributes:
        devices: Those that take part in each of the steps.
        shares: Computing of each as a share of the steps.
        any_share: Share of the steps in which at least one of them computes.
        overlap: Share of that in which more than one does, counted once for each beyond the first.
        idle_ns: Mean time per step in which a device does nothing while another one computes.
    """

    devices: tuple[int, ...]
    shares: tuple[float, ...]
    any_share: float
    overlap: float
    idle_ns: int


@signal()
def turns(s: Signals) -> Turns | None:
    """How a rank's devices share its steps; None if fewer than two take part."""
    if s(stepless) or s(steps) < _STEPS:
        raise MissingInputError("the recording has no complete steps", hint="record at least two whole steps")
    found = Steps.of(s.trace)
    starts, stops = found.ts[found.typical], found.stop[found.typical]
    every = [one for one in s.trace.once(device_times) if one.device is not None]
    within = Intervals.union_of(starts, stops)
    computing = {one.device: one.compute & within for one in every if one.device is not None}
    least = _PART * sum(one.total for one in computing.values())
    parts = {
        device: one
        for device, one in computing.items()
        if one.total and one.total >= least and _in_all(one, starts, stops)
    }
    if len(parts) < 2:
        return None
    together = Intervals.union_of_all(parts.values())
    busy = {one.device: one.busy for one in every}
    idle = sum((together - busy[device]).total for device in parts)
    length = max(within.total, 1)
    return Turns(
        tuple(parts), tuple(one.total / length for one in parts.values()), together.total / length,
        (sum(one.total for one in parts.values()) - together.total) / max(together.total, 1),
        idle // (len(parts) * max(starts.size, 1)),
    )  # fmt: skip


def _in_all(computing: Intervals, starts: Times, stops: Times) -> bool:
    """Whether a device computes in each of the steps."""
    begun = np.searchsorted(computing.ends, starts, side="right")
    known = begun < computing.starts.size
    return bool(known.all() and (computing.starts[begun] < stops).all())
