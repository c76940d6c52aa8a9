"""How far compute alone sets the length of a step, and in which kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.device_time import device_times, step_windows
from stepscope.analyses.shared.grouping import Groups
from stepscope.analyses.shared.needs import need_device
from stepscope.analyses.shared.peaks import MATRIX_CLASSES, known_devices, peak_rate
from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.coding import Codes
from stepscope.model.events.change import Change, Scaled
from stepscope.model.events.columns import Spans, input_texts, inputs_at, names_by_id
from stepscope.model.events.costs import Costs
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals, Times
from stepscope.model.kernel_names import OP_CLASSES, classify
from stepscope.model.trace import Trace
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal

#: What the counters of an NPU say of its cubes: the part of the time in which they multiplied, over all of them.
_CUBES_SQL: Final = """
SELECT event, max(value) FILTER (metric IN ('aic_mac_ratio', 'mac_ratio'))
    * max(value) FILTER (metric = 'cube_utilization') AS multiplying
FROM kernel_metrics WHERE event IN (SELECT event FROM kernels) GROUP BY event HAVING multiplying IS NOT NULL
"""
#: Groups of kernels that are distinguished; what is beyond them is too short to speak of.
_MOST: Final = 20
#: From this part of the peak on a kernel is bound by arithmetic, however much memory it moves.
_BUSY: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """The n launches of one kernel on operands of one size.

    Attributes:
        name: The kernel's, as recorded.
        short: The same, short enough to read.
        role: Class of the kernel.
        shapes: Recorded shapes of the operator's inputs, JSON; empty if not recorded.
        events: int64[n], the longest first.
        total_ns: Time of all of them.
        share: That time as a share of the steps.
        rate: FLOP/s; None if their FLOPs are not known.
        efficiency: Least time over time, or the part of the device's cubes that multiplied; None if FLOPs or peaks are
            not known, or bytes of what computes little.
    """

    name: str
    short: str
    role: str
    shapes: str
    events: Ids
    total_ns: int
    share: float
    rate: float | None
    efficiency: float | None

    @property
    def mean_ns(self) -> int:
        """Mean duration of a launch."""
        return self.total_ns // self.events.size


@dataclass(frozen=True, slots=True, eq=False)
class Dominance:
    """Compute time of the steps, or of the device's span where there are no steps.

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
        _kernels(s, at, shared),
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
    """Start and end on the device of each complete step; without steps, of the device's activity.

    A pause longer than all activity is an edge of the recording, not part of a loop: then the side of it with more
    activity counts.
    """
    windows, steps = s.trace.once(step_windows), Steps.of(s.trace)
    chosen = np.isin(windows.step, steps.step[steps.whole]) & (windows.ends > windows.starts)
    if chosen.any():
        return windows.starts[chosen], windows.ends[chosen]
    busy = Intervals.union_of_all(one.busy for one in s.trace.once(device_times))
    cuts = np.flatnonzero(busy.starts[1:] - busy.ends[:-1] > busy.total)
    starts, ends = busy.starts[np.append(0, cuts + 1)], busy.ends[np.append(cuts, len(busy) - 1)]
    most = int(np.argmax(busy.within(starts, ends)))
    return starts[most : most + 1], ends[most : most + 1]


def _inside(ts: Times, starts: Times, ends: Times) -> NDArray[np.bool_]:
    window = np.searchsorted(starts, ts, side="right") - 1
    inside: NDArray[np.bool_] = (window >= 0) & (ts < ends[np.maximum(window, 0)])
    return inside


def _kernels(s: Signals, at: Ids, length: int) -> tuple[Alike, ...]:
    if not at.size:
        return ()
    work, costs = DeviceWork.of(s.trace), Costs.of(s.trace)
    inputs = inputs_at(s.trace, Spans(s.trace).rows(work.op[at]))
    names, texts, devices = s.trace.once(names_by_id), s.trace.once(input_texts), known_devices(s.trace)
    # Kernels of one function count together: their template arguments are instances of a lambda, or types.
    name, index = np.unique(work.name[at], return_inverse=True)
    groups = Groups.by(Codes.numbered(index, [classify(names[one]).short for one in name.tolist()]).code, inputs)
    total = groups.sum(work.dur[at])
    found, cubes = [], s.trace.once(_cubes)
    for group in np.argsort(-total, kind="stable")[:_MOST].tolist():
        own = at[groups.index == group]
        own = own[np.argsort(-work.dur[own], kind="stable")]
        first, time = own[0], int(total[group])
        role, text = OP_CLASSES[work.op_class[first]], texts.get(int(inputs[groups.first[group]]), {})
        flops, moved = float(costs.flops[own].sum()), float(costs.bytes[own].sum())
        rate = flops * 1e9 / time if (costs.flops[own] > 0).all() else None
        efficiency = None
        known = devices.get(int(work.device[first]))
        if rate is not None and known is not None:
            units = None if costs.tensor_core[first] < 0 else bool(costs.tensor_core[first])
            peak = peak_rate(known, role, costs.types[costs.dtype[first]], units)
            told = known.memory_bandwidth and (costs.bytes[own] >= 0).all()
            moving = moved / known.memory_bandwidth if told and known.memory_bandwidth else 0.0
            # Arithmetic alone tells what a kernel that it keeps busy comes to at least.
            if peak is not None and (told or rate >= _BUSY * peak[1]):
                efficiency = max(flops / peak[1], moving) * 1e9 / time
        if efficiency is None and role in MATRIX_CLASSES and np.isfinite(cubes[own]).all():
            efficiency = float((cubes[own] * work.dur[own]).sum()) / time
        one = names[int(work.name[first])]
        found.append(
            Alike(one, classify(one).short, role, text.get("shapes", ""), work.event[own], time, time / length, rate,
                  efficiency)
        )  # fmt: skip
    return tuple(found)


def _cubes(trace: Trace) -> NDArray[np.float64]:
    """Share of time in which the cubes multiplied, for each activity of `DeviceWork`; NaN without a counter."""
    told, rows = DeviceWork.of(trace).event, trace.columns(_CUBES_SQL)
    found = np.full(told.size, np.nan)
    order = np.argsort(told, kind="stable")
    found[order[np.searchsorted(told, rows["event"], sorter=order)]] = rows["multiplying"]
    return found
