"""The functions with the most device time, by size of operands, and how near each is to the device's peak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.grouping import Groups
from stepscope.analyses.shared.peaks import MATRIX_CLASSES, known_devices, peak_rate
from stepscope.model.coding import Codes
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.costs import Costs
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.model.kernel_names import OP_CLASSES, classify
from stepscope.model.trace import Trace
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals

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


def alike_kernels(s: Signals, at: Ids, length: int) -> tuple[Alike, ...]:
    """The functions with the most time, by size of operands.

    Args:
        s: Signals of the rank.
        at: int64[n], positions of compute kernels in `DeviceWork`.
        length: What shares are of, ns.
    """
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
