"""Kernels whose counters are at hand: of a kernel profiler, or of an NPU's cores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.costs import Costs
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.kernel_names import OP_CLASSES, classify
from stepscope.model.kernel_names.parse import parse
from stepscope.signals.kernels.counter_names import METRICS, counted
from stepscope.signals.shared.job import device, per_step, step_share
from stepscope.signals.signal import Signals, signal

_NPU_TOOL: Final = "msprof op"
#: Ascend numbers the kernels of a graph: MatMul12 is a MatMul.
_NUMBER: Final = re.compile(r"_?\d+$")
_METRICS_SQL: Final = f"""
SELECT event, metric, value FROM kernel_metrics WHERE metric IN ({", ".join(f"'{name}'" for name in METRICS)})
    AND isfinite(value) AND event IN (SELECT event FROM kernels) ORDER BY event
"""
_COUNTED_SQL: Final = "SELECT count(*) FROM kernel_counters"
_LAUNCH_SQL: Final = """
SELECT DISTINCT ON (base, metric) base, name, tool, metric, value FROM kernel_counters ORDER BY base, metric, launch
"""


@dataclass(frozen=True, slots=True, eq=False)
class Inspected:
    """A kernel with counters.

    Attributes:
        name: As recorded.
        tool: ncu, msprof op or rocprof-compute; `counters` where the recording has them itself.
        op_class: Class of the kernel.
        events: int64[n], its launches in the recording, the longest first.
        ns_per_step: Their time per step.
        share: The same as a share of the steps.
        intensity: FLOPs per byte moved; None if not known.
        values: Counters by name; of several launches the means, weighted by time.
        dtype: Type of the operands, as in `stepscope.model.dtypes`; empty if not known, or if there are several.
        attained: Part of the device's peak for that type that its arithmetic reaches; None if not known.
    """

    name: str
    tool: str
    op_class: str
    events: NDArray[np.int64]
    ns_per_step: int
    share: float
    intensity: float | None
    values: Mapping[str, float]
    dtype: str = ""
    attained: float | None = None

    @property
    def short(self) -> str:
        """The name without its parameters."""
        return classify(self.name).short


@signal()
def inspected(s: Signals) -> tuple[Inspected, ...]:
    """Recorded kernels with counters, those with the most time first."""
    found = [*_of_tools(s), *_of_cores(s)]
    if not found:
        raise MissingInputError(
            "no counters of single kernels are recorded",
            hint="profile a kernel with the command that a finding prints, and give its result with the recording",
        )
    return tuple(sorted(found, key=lambda one: -one.share))


def _of_tools(s: Signals) -> list[Inspected]:
    if not s.trace.scalar(_COUNTED_SQL):
        return []
    values: dict[str, dict[str, float]] = {}
    tools: dict[str, str] = {}
    for row in s.trace.rows(_LAUNCH_SQL):
        values.setdefault(row["base"], {})[row["metric"]] = row["value"]
        tools[row["base"]] = row["tool"]
    work, names = DeviceWork.of(s.trace), s.trace.once(names_by_id)
    at = np.flatnonzero(work.are("compute"))
    bases = {one: parse(names[one]).base or names[one] for one in np.unique(work.name[at]).tolist()}
    found = []
    for base, told in values.items():
        own = at[np.isin(work.name[at], [one for one, name in bases.items() if _is(base, name, tools[base])])]
        if own.size:
            known = {**counted(told), **told} if tools[base] == _NPU_TOOL else told
            found.append(_inspected(s, own, tools[base], known))
    return found


def _is(counted: str, recorded: str, tool: str) -> bool:
    """Whether a recorded base name is that of a profiled kernel; on NPUs the operator's call may stand before it."""
    return recorded == counted or (tool == _NPU_TOOL and recorded.endswith(f"_{counted}"))


def _of_cores(s: Signals) -> list[Inspected]:
    rows = s.trace.columns(_METRICS_SQL)
    if not rows["event"].size:
        return []
    work = DeviceWork.of(s.trace)
    position = work.rows(s.trace, rows["event"])
    kept = work.are("compute")[position]
    position, metric, value = position[kept], rows["metric"][kept].astype(str), rows["value"][kept].astype(np.float64)
    found, names = [], s.trace.once(names_by_id)
    kinds = {one: _NUMBER.sub("", names[one]) for one in np.unique(work.name[position]).tolist()}
    for kind in sorted(set(kinds.values())):
        mine = np.isin(work.name[position], [one for one, name in kinds.items() if name == kind])
        own = np.unique(position[mine])
        weights = np.maximum(work.dur[position[mine]], 1)
        values = {
            name: float(np.average(value[mine][these], weights=weights[these]))
            for name in np.unique(metric[mine]).tolist()
            if (these := metric[mine] == name).any()
        }
        found.append(_inspected(s, own, "counters", counted(values)))
    return found


def _inspected(s: Signals, at: NDArray[Any], tool: str, values: Mapping[str, float]) -> Inspected:
    work, costs, names = DeviceWork.of(s.trace), Costs.of(s.trace), s.trace.once(names_by_id)
    at = at[np.argsort(-work.dur[at], kind="stable")]
    total = int(work.dur[at].sum())
    flops, moved = costs.flops[at], costs.bytes[at]
    known = bool(((flops > 0) & (moved > 0)).all())
    types = np.unique(costs.dtype[at])
    dtype = costs.types[types[0]] if types.size == 1 else ""
    of = s.maybe(device) if known and dtype else None
    peak = of.peak(dtype) if of is not None else None
    attained = float(flops.sum()) * 1e9 / max(total, 1) / peak if peak else None
    return Inspected(
        names[int(work.name[at[0]])], tool, OP_CLASSES[work.op_class[at[0]]], work.event[at], per_step(s, total),
        step_share(s, total), float(flops.sum() / moved.sum()) if known else None, values, dtype,
        attained,
    )  # fmt: skip
