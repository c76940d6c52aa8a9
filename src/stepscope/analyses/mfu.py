"""Model FLOPs utilisation: how much of the devices' peak arithmetic each step used."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.analyses.device_time import step_windows
from stepscope.analyses.needs import no_costs
from stepscope.analyses.peaks import MATRIX_CLASSES, device_names, known_devices, operand_dtype
from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, fraction, ns, number, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MFU = TableSchema(
    "mfu",
    "Share of the device's peak that the matrix products, attention and convolutions of each step came to. One row "
    "per device and step, and one per device with `step` null for the time from its first activity to its last. "
    "Recomputed work counts as work.",
    (
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        Column("step", "int32", "Index into `steps`; null for the whole recorded device span.", "", True),
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

#: FLOPs by device, step and data type, and the time of kernels with and without known FLOPs.
_SQL: Final = f"""
WITH work AS (
    SELECT coalesce(device, -1) AS device, coalesce(step, -1) AS step, op, dtype, flops, dur
    FROM kernels WHERE kind = 'compute' AND op_class IN {MATRIX_CLASSES}
), costed AS (SELECT DISTINCT op FROM work WHERE flops IS NOT NULL)
SELECT w.device, w.step, coalesce(w.dtype, '') AS dtype, CASE WHEN w.dtype IS NULL THEN i.dtypes END AS recorded,
    coalesce(sum(w.flops), 0)::DOUBLE AS flops, sum(w.dur)::BIGINT AS dur,
    coalesce(sum(w.dur) FILTER (WHERE c.op IS NOT NULL), 0)::BIGINT AS known
FROM work w LEFT JOIN costed c ON c.op = w.op
LEFT JOIN op_inputs i ON i.event = w.op AND w.flops IS NOT NULL AND w.dtype IS NULL
GROUP BY ALL
"""
_SPANS_SQL: Final = """
SELECT coalesce(device, -1) AS device, min(ts) AS first, max(ts + dur) AS last
FROM kernels WHERE kind <> 'sync' GROUP BY 1 ORDER BY 1
"""


def mfu(trace: Trace) -> Table:
    """Compare the arithmetic of each step with the device's peak.

    Raises:
        MissingInputError: No operator has known FLOPs, or no device has a known peak.
    """
    work = trace.rows(_SQL)
    if not any(row["flops"] for row in work):
        raise no_costs(trace)
    devices = known_devices(trace)
    if not devices:
        raise MissingInputError(
            f"the peak rate of {device_names(trace)} is not known",
            hint="compare flop_rate of `roofline` with what the vendor states",
        )
    windows = trace.once(step_windows)
    rows: list[tuple[Any, ...]] = []
    for span in trace.rows(_SPANS_SQL):
        index = span["device"]
        mine = [row for row in work if row["device"] == index]
        ends = np.append(windows.ends - windows.starts, span["last"] - span["first"])
        for step, total in zip([*windows.step.tolist(), None], ends.tolist(), strict=True):
            chosen = [row for row in mine if step is None or row["step"] == step]
            rows.append(
                (trace.ranks[0], index if index >= 0 else None, step, total, *_measures(chosen, total, devices))
            )
    return Table.from_rows(MFU, rows)


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
        f"{device.name} {dtype}" if device is not None and peak else None,
        None if peak is None else float(peak),
        rate,
        rate / peak if peak and rate is not None else None,
        sum(row["known"] for row in work) / dur if dur else None,
    )


ANALYSES = (Analysis(MFU, mfu),)
