"""Operations with a known cost, and the peaks of the device that bound them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.grouping import Groups
from stepscope.analyses.shared.needs import no_costs
from stepscope.analyses.shared.peaks import known_devices, operand_dtype, peak_rate
from stepscope.model.coding import Codes
from stepscope.model.devices import Device
from stepscope.model.events.columns import Spans
from stepscope.model.events.costs import Costs
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.trace import Trace

Columns = dict[str, NDArray[Any]]


def operations(trace: Trace) -> tuple[Columns, tuple[Codes, ...]]:
    """Every operation with a known cost and its peak, and the codes of its class, type, peak and shapes.

    Its time is that of all device work whose innermost operator it is, including memsets and copies with which a GEMM's
    library prepares its workspace. A kernel without operator that was recorded with its shapes is an operation by
    itself, named after the kernel.
    """
    work, costs, spans = DeviceWork.of(trace), Costs.of(trace), Spans(trace)
    operator = spans.rows(work.op)
    alone = (operator < 0) & (costs.flops >= 0)
    at = np.flatnonzero(work.are("compute", "copy", "set") & ((operator >= 0) | alone))
    unit = np.where(operator[at] >= 0, operator[at], spans.rows(work.event[at]))
    groups = Groups.by(unit)
    costed = costs.flops[at] >= 0
    if not costed.any():
        raise no_costs(trace)

    def first(values: NDArray[Any], known: NDArray[np.bool_], otherwise: int = 0) -> NDArray[Any]:
        """The first known value of each group."""
        rows = np.flatnonzero(known)[::-1]  # the last one written is the first
        found = np.full(groups.count.size, otherwise, values.dtype)
        found[groups.index[rows]] = values[rows]
        return found

    def of_costed(values: NDArray[Any]) -> NDArray[Any]:
        return np.where(costed, values, 0)

    moved = costs.bytes[at]
    known = costed & (moved >= 0)
    chosen = np.flatnonzero(groups.sum(costed) > 0)
    event = unit[groups.first[chosen]]
    device, dtype, on_matrix = work.device[at], costs.dtype[at], costs.tensor_core[at]
    rows: Columns = {
        "name_id": spans.name[event],
        "device": first(device, device >= 0, -1)[chosen],
        "dur": groups.sum(work.dur[at])[chosen],
        "tensor_core": first(on_matrix, costed & (on_matrix >= 0), -1)[chosen],
        "flops": np.bincount(groups.index, of_costed(costs.flops[at]), groups.count.size)[chosen],
        "bytes": np.where(groups.sum(known) > 0, groups.sum(np.where(known, moved, 0)), -1)[chosen],
    }
    inputs = inputs_at(trace, event)
    # Of operators without recorded inputs, those that their kernels were recorded with.
    own = first(spans.rows(work.event[at]), costed, -1)[chosen]
    inputs = np.where(inputs >= 0, inputs, inputs_at(trace, own))
    texts = trace.once(input_texts)
    place = np.zeros(max(texts, default=-1) + 2, np.int64)  # the last one for -1
    place[list(texts)] = np.arange(1, len(texts) + 1)
    words = {
        "op_class": Codes.numbered(first(work.op_class[at], costed)[chosen], list(OP_CLASSES)),
        "named": Codes.numbered(first(dtype, costed & (dtype > 0))[chosen], list(costs.types)),
        **{
            key: Codes.numbered(place[inputs], ["", *(row[key] for row in texts.values())])
            for key in ("shapes", "dtypes")
        },
    }
    typed, peak = _assume_peaks(rows, words, known_devices(trace))
    return rows, (words["op_class"], typed, peak, words["shapes"])


def _assume_peaks(rows: Columns, words: dict[str, Codes], devices: dict[int, Device]) -> tuple[Codes, Codes]:
    """Add each call's peaks (NaN if unknown) and its least time (-1 if unknown); its data type and its peak's name."""
    kinds = [words[key] for key in ("op_class", "named", "dtypes")]
    groups = Groups.by(rows["device"], rows["tensor_core"], *(codes.code for codes in kinds))
    dtype, peak = [], []
    rate, bandwidth = np.full(groups.count.size, np.nan), np.full(groups.count.size, np.nan)
    for group, (op_class, named, recorded) in enumerate(zip(*(codes.at(groups.first) for codes in kinds), strict=True)):
        one = groups.first[group]
        dtype.append(named or operand_dtype(recorded) or "")
        peak.append("")
        device = devices.get(int(rows["device"][one]))
        if device is None:
            continue
        bandwidth[group] = device.memory_bandwidth or np.nan
        uses_matrix = None if rows["tensor_core"][one] < 0 else bool(rows["tensor_core"][one])
        assumed = peak_rate(device, op_class, dtype[group], uses_matrix)
        if assumed is not None:
            peak[group], rate[group] = assumed
    rows["peak_rate"], rows["bandwidth"] = rate[groups.index], bandwidth[groups.index]
    rows["by_compute"] = np.where(rows["flops"] == 0, 0.0, rows["flops"] * 1e9 / rows["peak_rate"])
    rows["by_memory"] = np.where(rows["bytes"] < 0, np.nan, rows["bytes"]) * 1e9 / rows["bandwidth"]
    longer = np.maximum(rows["by_compute"], rows["by_memory"])
    rows["least"] = np.nan_to_num(longer, nan=-1.0).astype(np.int64)
    return Codes.numbered(groups.index, dtype), Codes.numbered(groups.index, peak)
