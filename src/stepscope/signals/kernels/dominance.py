"""How far compute alone sets the length of a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.device_time import device_times, step_windows
from stepscope.analyses.shared.needs import need_device
from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change, Scaled
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Times
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.signals.kernels.kernel_times import Alike, alike_kernels
from stepscope.signals.signal import Signals, signal


@dataclass(frozen=True, slots=True, eq=False)
class Dominance:
    """Compute time of the steps, or of the time in which the device was in use where there are no steps.

    Attributes:
        length_ns: Length of all these steps.
        busy: Share of it in which any compute kernel runs.
        roles: Classes of kernels with their shares of it, the largest first; kernels side by side share their time.
        kernels: The functions with the most time, by size of operands.
    """

    length_ns: int
    busy: float
    roles: tuple[tuple[str, float], ...]
    kernels: tuple[Alike, ...]


@signal()
def compute(s: Signals) -> Dominance:
    """Share of the steps in which the device computes, by class of kernel and by kernel."""
    need_device(s.trace)
    starts, ends = _windows(s)
    length = max(int((ends - starts).sum()), 1)
    devices = s.trace.once(device_times)
    # Of a process with several devices, the one that computes most decides.
    busiest = max(devices, key=lambda one: (int(one.compute.within(starts, ends).sum()), -(one.device or 0)))
    work = DeviceWork.of(s.trace)
    mine = work.are("compute") & (work.device == (-1 if busiest.device is None else busiest.device)) & (work.dur > 0)
    at = np.flatnonzero(mine)
    at = at[_inside(work.ts[at], starts, ends)]
    computing = int(busiest.compute.within(starts, ends).sum())
    # Kernels on several streams share the time in which they run side by side.
    shared = max(length, round(length * int(work.dur[at].sum()) / max(computing, 1)))
    roles = np.bincount(work.op_class[at], work.dur[at], len(OP_CLASSES)) / shared
    order = np.argsort(-roles, kind="stable")
    return Dominance(
        length,
        computing / length,
        tuple((OP_CLASSES[i], float(roles[i])) for i in order.tolist() if roles[i] > 0),
        alike_kernels(s, at, shared),
    )


@signal("share")
def shortens(s: Signals) -> float:
    """Reduction of the step if all compute kernels took half their time, as a share of that half.

    Near 1 where kernels alone set the step's length, near 0 where the host, or anything else, takes as long.
    """
    need_device(s.trace)
    work = DeviceWork.of(s.whole.trace)
    computing = work.are("compute") & (work.dur > 0)
    found = StepGraph.of(s.whole.trace).predict(Change(device=(Scaled(work.event[computing], 0.5),)))
    return found.saved_ns / max(0.5 * s(compute).busy * found.base_ns, 1.0)


@signal()
def decoding(s: Signals) -> bool:
    """Whether most device time is spent in a server's decode steps, which read all weights for few tokens."""
    rows = s.table("phases").records()
    busy = sum(row["device_ns"] or 0 for row in rows)
    return 2 * sum(row["device_ns"] or 0 for row in rows if row["phase"] == "decode") > busy > 0


def _windows(s: Signals) -> tuple[Times, Times]:
    """Start and end on the device of each complete step; without steps, of the time in which the device was in use."""
    windows, steps = s.trace.once(step_windows), Steps.of(s.trace)
    chosen = np.isin(windows.step, steps.step[steps.whole]) & (windows.ends > windows.starts)
    if not chosen.any():
        chosen = windows.ends > windows.starts
    if not chosen.any():  # all device work has lost its duration
        raise MissingInputError.of("device")
    return windows.starts[chosen], windows.ends[chosen]


def _inside(ts: Times, starts: Times, ends: Times) -> NDArray[np.bool_]:
    window = np.searchsorted(starts, ts, side="right") - 1
    inside: NDArray[np.bool_] = (window >= 0) & (ts < ends[np.maximum(window, 0)])
    return inside
