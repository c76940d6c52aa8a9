"""Kernels of Ascend devices: kind of core, number of blocks, and counters of the core's pipes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.needs import need_device
from stepscope.language import said
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.signals.ascend.ascend import need_ascend
from stepscope.signals.shared.job import device
from stepscope.signals.shared.step_columns import StepColumns
from stepscope.signals.signal import Signals, signal

#: Arguments are JSON text of a few keys; newer versions of CANN call blocks so that they are counted, not measured.
_KERNELS_SQL: Final = """
SELECT k.event, k.ts, k.dur, coalesce(k.core, '') AS core, coalesce(k.op_type, '') AS op_type, k.name,
    coalesce(try_cast(coalesce(e.args->>'Block Dim', e.args->>'Block Num') AS DOUBLE), 0)::BIGINT AS blocks,
    coalesce(e.args->>'Input Data Types', '') AS dtypes, coalesce(e.args->>'OP State', '') AS state
FROM kernels k JOIN events e ON e.id = k.event
WHERE k.kind = 'compute' AND k.step IN (SELECT step FROM steps WHERE typical)
ORDER BY k.ts, k.event
"""
_METRICS_SQL: Final = """
SELECT m.event, m.metric, m.value FROM kernel_metrics m
WHERE m.metric IN (SELECT unnest($metrics)) ORDER BY m.event
"""
_STEPS_SQL: Final = "SELECT count(*) FROM steps WHERE typical"
_CLOCK_SQL: Final = """
SELECT ts, value FROM counters WHERE (name ILIKE '%core%freq%' OR name ILIKE '%freq%mhz%') AND value > 0 ORDER BY ts
"""
#: So many kernels do not use the same number of blocks by chance.
_SEVERAL: Final = 3
#: Cores whose time is a smaller part of that of the kernel's others say nothing of it: one over this.
_BRIEF: Final = 10
_NO_PIPES: Final = said("how busy the pipes of the cores were is not recorded")
_RECORD_PIPES: Final = said(
    "record with profiler_level=ProfilerLevel.Level1 and aic_metrics=AiCMetrics.PipeUtilization"
)
_AI_CPU: Final = ("AiCpu", "AICPU", "AI_CPU")

#: Vector units per AI core, by core type: the cores of these kernels come in pairs on chips with separate units.
_VECTOR: Final = ("AI_VECTOR_CORE", "MIX_AIV")
_CUBE: Final = ("AI_CORE", "MIX_AIC")


@dataclass(frozen=True, slots=True)
class NpuKernels(StepColumns):
    """The n compute kernels of complete steps, in time order.

    Attributes:
        event: int64[n].
        ts: int64[n].
        dur: int64[n].
        core: str[n], AI_CORE, AI_VECTOR_CORE, MIX_AIC, MIX_AIV, AI_CPU, ...; empty if not recorded.
        op_type: str[n], what the library calls the operator; empty if not recorded.
        name: str[n].
        blocks: int64[n], 0 if not recorded.
        dtypes: str[n], of the inputs, joined by `;`.
        state: str[n], static or dynamic; empty if not recorded.
        steps: Number of complete steps.
    """

    event: NDArray[np.int64]
    ts: Times
    dur: Times
    core: NDArray[Any]
    op_type: NDArray[Any]
    name: NDArray[Any]
    blocks: NDArray[np.int64]
    dtypes: NDArray[Any]
    state: NDArray[Any]
    steps: int

    @property
    def ns_per_step(self) -> int:
        """Time of the kernels per step, ns."""
        return int(self.dur.sum()) // max(self.steps, 1)

    def types(self, most: int = 3) -> str:
        """The types with the most time, as text."""
        named = np.where(self.op_type == "", self.name, self.op_type)
        kinds, index = np.unique(named, return_inverse=True)
        order = np.argsort(-np.bincount(index, weights=self.dur), kind="stable")[:most]
        return ", ".join(str(kind) for kind in kinds[order]) + (", ..." if kinds.size > most else "")


@signal()
def kernels(s: Signals) -> NpuKernels:
    """Compute kernels of complete steps, with core, type, blocks and state as the profiler recorded them."""
    need_ascend(s)
    need_device(s.trace)
    rows = s.trace.columns(_KERNELS_SQL)
    return NpuKernels(**rows, steps=int(s.trace.scalar(_STEPS_SQL) or 1))


@signal()
def on_ai_cpu(s: Signals) -> NpuKernels:
    """Kernels that ran on the device's AI CPU instead of its AI cores, by recorded core or by name."""
    every = s(kernels)
    named = np.array([any(mark in name for mark in _AI_CPU) for name in every.name.tolist()], np.bool_)
    return every.where((every.core == "AI_CPU") | (every.core == "") & named)


@signal()
def conversions(s: Signals) -> NpuKernels:
    """Kernels that only convert between memory formats."""
    every = s(kernels)
    named = np.array(["TransData" in name for name in every.name.tolist()], np.bool_)
    return every.where((every.op_type == "TransData") | (every.op_type == "") & named)


@signal()
def cores(s: Signals) -> NpuKernels:
    """Kernels whose kind of core is recorded."""
    every = s(kernels)
    told = every.core != ""
    if not told.any():
        raise MissingInputError(
            "the kinds of cores that kernels ran on are not recorded",
            hint="record with profiler_level=ProfilerLevel.Level1, and give the whole result folder",
        )
    return every.where(told)


@signal()
def units(s: Signals) -> Mapping[str, int]:
    """Number of cores of each kind: from the device table, else the most blocks that several kernels use."""
    known, found = s(device), s(cores)
    if known is not None and known.units:
        # Chips whose cube and vector units are separate have two vector units for each cube unit.
        return {core: known.units * (2 if core in _VECTOR else 1) for core in (*_CUBE, *_VECTOR)}
    counts: dict[str, int] = {}
    for kinds in (_CUBE, _VECTOR):
        blocks, times = np.unique(found.blocks[np.isin(found.core, kinds)], return_counts=True)
        often = blocks[(times >= _SEVERAL) & (blocks > 1)]
        counts.update(dict.fromkeys(kinds, int(often.max())) if often.size else {})
    return counts


@signal()
def pipes(s: Signals) -> Mapping[str, NDArray[np.float64]]:
    """Busy share of each pipe of the cores per kernel, by metric; rows as in `npu_kernels.cores`.

    Of a kernel with cube and vector parts, cores that ran for less than a tenth of the others' time count as idle.
    """
    found = s(cores)
    names = [f"{core}_{pipe}_ratio" for core in ("aic", "aiv") for pipe in ("mac", "vec", "scalar", "mte1", "mte2",
             "mte3", "fixpipe")]  # fmt: skip
    times = ["aic_total_time", "aiv_total_time"]
    rows = s.trace.columns(_METRICS_SQL, {"metrics": [*names, *(name[4:] for name in names), *times]})
    if not rows["event"].size:
        raise MissingInputError(_NO_PIPES, hint=_RECORD_PIPES)
    order = np.argsort(found.event, kind="stable")
    at = order[np.minimum(np.searchsorted(found.event, rows["event"], sorter=order), found.event.size - 1)]
    known = found.event[at] == rows["event"]
    ratios: dict[str, NDArray[np.float64]] = {}
    for name in np.unique(rows["metric"].astype(str)).tolist():
        values = np.zeros(found.event.size)
        mine = known & (rows["metric"] == name)
        values[at[mine]] = rows["value"][mine]
        ratios[name] = values
    cube, vector = (ratios.pop(name, np.zeros(found.event.size)) for name in times)
    for core, own, others in (("aic_", cube, vector), ("aiv_", vector, cube)):
        for name, values in ratios.items():
            if name.startswith(core):
                values[own * _BRIEF < others] = 0.0
    if not ratios:
        raise MissingInputError(_NO_PIPES, hint=_RECORD_PIPES)
    return ratios


@signal()
def clock(s: Signals) -> NDArray[np.float64]:
    """Clock of the AI cores at the start of each of `npu_kernels.kernels`, MHz."""
    found, rows = s(kernels), s.trace.columns(_CLOCK_SQL)
    if not rows["ts"].size:
        raise MissingInputError(
            "the clock of the AI cores is not recorded", hint="record with profiler_level=ProfilerLevel.Level1"
        )
    at = np.maximum(np.searchsorted(rows["ts"], found.ts, side="right") - 1, 0)
    values: NDArray[np.float64] = rows["value"][at]
    return values


@signal("MHz")
def highest_clock(s: Signals) -> float:
    """The highest clock of the AI cores at any time of the recording."""
    return float(s.whole.trace.columns(_CLOCK_SQL)["value"].max(initial=0.0))


def is_vector(core: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether kernels ran on vector units."""
    return np.isin(core, _VECTOR)
