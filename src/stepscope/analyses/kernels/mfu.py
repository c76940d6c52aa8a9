"""Model FLOPs utilisation of each step: FLOPs done over the devices' peak for the same time."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import device_times, step_windows
from stepscope.analyses.shared.grouping import Groups
from stepscope.analyses.shared.needs import no_costs
from stepscope.analyses.shared.peaks import MATRIX_CLASSES, device_names, known_devices, operand_dtype
from stepscope.language import said
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.events.costs import Costs
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.model.schema import Column, TableSchema, fraction, ns, number, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MFU = TableSchema(
    "mfu",
    "Share of the device's peak that the matrix multiplications, attention and convolutions of each step came to. One "
    "row per device and step, and one per device with `step` null for the time from its first activity to its last. "
    "Recomputed work counts as work.",
    (
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        Column("step", "int32", "Step, as in `steps`; null for the whole recorded device span.", "", True),
        ns("total_ns", "Length of the step on the devices, as in `step_budget`."),
        number("flops", "Floating-point operations launched in the step, from the shapes of operators.", "FLOP"),
        text("dtype", "Data type with the most of them; null if there are none.", nullable=True),
        text("peak", "The peak assumed: device and data type; null if there is none.", nullable=True),
        number("peak_flop_rate", "Its dense rate; null likewise.", "FLOP/s", nullable=True),
        number("flop_rate", "flops / total_ns; null if no time passed.", "FLOP/s", nullable=True),
        fraction("mfu", "flop_rate / peak_flop_rate; null where one of them is.", nullable=True),
        fraction("covered", "Share of the time of such kernels whose operators' FLOPs are known; where it is low, mfu "
                 "is too low. Null if there are no such kernels.", nullable=True),
    ),
)  # fmt: skip


def mfu(trace: Trace) -> Table:
    """Compare the arithmetic of each step with the device's peak.

    Raises:
        MissingInputError: No operator has known FLOPs, or no device has a known peak.
    """
    work = _work(trace)
    if not any(row["flops"] for row in work):
        raise no_costs(trace)
    devices = known_devices(trace)
    if not devices:
        raise MissingInputError(
            said("the peak rate of {device_names} is not known", device_names=device_names(trace)),
            hint="compare flop_rate of `roofline` with what the vendor states",
        )
    windows = trace.once(step_windows)
    rows: list[tuple[Any, ...]] = []
    for span in trace.once(device_times):
        index = -1 if span.device is None else span.device
        mine = [row for row in work if row["device"] == index]
        ends = np.append(windows.ends - windows.starts, span.last - span.first)
        for step, total in zip([*windows.step.tolist(), None], ends.tolist(), strict=True):
            chosen = [row for row in mine if step is None or row["step"] == step]
            rows.append((trace.ranks[0], span.device, step, total, *_measures(chosen, total, devices)))
    return Table.from_rows(MFU, rows)


def _work(trace: Trace) -> list[dict[str, Any]]:
    """FLOPs by device, step and data type, and the time of kernels with and without known FLOPs."""
    work, costs = DeviceWork.of(trace), Costs.of(trace)
    at = np.flatnonzero(work.are("compute") & work.is_class(*MATRIX_CLASSES))
    op, flops, dur = work.op[at], costs.flops[at], work.dur[at]
    costed = flops >= 0
    known = costed | ((op >= 0) & np.isin(op, op[costed]))
    untyped = costed & (costs.dtype[at] == 0)
    inputs = np.full(at.size, -1, np.int32)
    inputs[untyped] = inputs_at(trace, Spans(trace).rows(op[untyped]))
    groups = Groups.by(work.device[at], work.step[at], costs.dtype[at], inputs)
    columns = zip(
        *(values[at[groups.first]].tolist() for values in (work.device, work.step, costs.dtype)),
        inputs[groups.first].tolist(),
        np.bincount(groups.index, np.maximum(flops, 0), groups.count.size).tolist(),
        groups.sum(dur).tolist(),
        groups.sum(np.where(known, dur, 0)).tolist(),
        strict=True,
    )
    texts = trace.once(input_texts)
    return [
        {
            "device": device, "step": step, "dtype": costs.types[dtype],
            "recorded": texts[row]["dtypes"] if row >= 0 else None, "flops": amount, "dur": total, "known": of_known,
        }
        for device, step, dtype, row, amount, total, of_known in columns
    ]  # fmt: skip


def _measures(work: list[dict[str, Any]], total: int, devices: dict[int, Any]) -> tuple[Any, ...]:
    """The columns from `flops` on, of the work of one device and step."""
    flops: dict[str, float] = {}
    for row in work:
        dtype = row["dtype"] or operand_dtype(row["recorded"]) or ""
        flops[dtype] = flops.get(dtype, 0.0) + row["flops"]
    amount = sum(flops.values())
    dtype = max(sorted(flops), key=flops.__getitem__) if amount else ""
    device = devices.get(work[0]["device"]) if work else None
    peak = device.peak(dtype) if device is not None and dtype else None
    rate = amount * 1e9 / total if total else None
    dur = sum(row["dur"] for row in work)
    return (
        amount,
        dtype or None,
        f"{device.label} {dtype}" if device is not None and peak else None,
        None if peak is None else float(peak),
        rate,
        rate / peak if peak and rate is not None else None,
        sum(row["known"] for row in work) / dur if dur else None,
    )


ANALYSES = (Analysis(MFU, mfu),)
