"""Use of tensor cores: time of the kernels that use them over that of all kernels that could."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups
from stepscope.analyses.shared.needs import need_device
from stepscope.analyses.shared.peaks import MATRIX_CLASSES, known_devices
from stepscope.model.errors import MissingInputError
from stepscope.model.events.costs import Costs
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.schema import Column, TableSchema, count, flag, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

TENSOR_CORES = TableSchema(
    "tensor_cores",
    "Device time of the kernels that could use tensor cores (AMD: matrix cores; Ascend: cube units), by class and "
    "data type, and one row per device with both null for all of them: total = used + unused + unknown.",
    (
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        text("op_class", "gemm, attention, convolution, or another class with kernels on tensor cores; null for all.",
             nullable=True),
        text("dtype", "Data type of the operands, from the kernel's name; null if it does not tell, or for all.",
             nullable=True),
        count("count", "Kernels."),
        ns("total_ns", "Sum of their durations: the eligible time."),
        ns("used_ns", "Kernels that use tensor cores, from their names."),
        ns("unused_ns", "Kernels that do not."),
        ns("unknown_ns", "Kernels whose names do not tell."),
        fraction("used_share", "used_ns / (used_ns + unused_ns); null if both are 0.", nullable=True),
        fraction("device_share", "total_ns as a share of the device's compute kernel time."),
        flag("available", "Whether the device has tensor cores for the data type (any, if it is null); null if the "
             "device is not known.", nullable=True),
    ),
)  # fmt: skip


def tensor_cores(trace: Trace) -> Table:
    """Measure the use of tensor cores; no rows for a device without eligible kernels.

    Raises:
        MissingInputError: The recording has no compute kernel.
    """
    if not DeviceWork.of(trace).are("compute").any():
        need_device(trace)
        raise MissingInputError("only copies ran on the device", hint="nothing is missing: no kernel was launched")
    devices = known_devices(trace)
    rows = []
    for row in _eligible(trace):
        device = devices.get(row["device"])
        matrix = {} if device is None else device.matrix
        dtype, told = row["dtype"], row["used"] + row["unused"]
        rows.append(
            (
                trace.ranks[0], row["device"] if row["device"] >= 0 else None, row["op_class"], dtype, row["count"],
                row["total"], row["used"], row["unused"], row["total"] - told, row["used"] / told if told else None,
                row["total"] / row["whole"] if row["whole"] else 0.0,
                None if device is None else dtype in matrix if dtype else bool(matrix),
            )
        )  # fmt: skip
    return Table.from_rows(TENSOR_CORES, rows)


def _eligible(trace: Trace) -> Iterator[dict[str, Any]]:
    """Time of eligible kernels by device, in all first, then by class and data type."""
    work, costs = DeviceWork.of(trace), Costs.of(trace)
    compute = work.are("compute")
    at = np.flatnonzero(compute & (work.is_class(*MATRIX_CLASSES) | (costs.tensor_core == 1)))
    dur, unit = work.dur[at], costs.tensor_core[at]
    groups = Groups.by(work.device[at], work.op_class[at], costs.dtype[at])
    sums = {
        "count": groups.count,
        "total": groups.sum(dur),
        "used": groups.sum(np.where(unit == 1, dur, 0)),
        "unused": groups.sum(np.where(unit == 0, dur, 0)),
    }
    first = at[groups.first]
    by_device: dict[int, list[dict[str, Any]]] = {}
    for group, (device, op_class, dtype) in enumerate(
        zip(work.device[first].tolist(), work.op_class[first].tolist(), costs.dtype[first].tolist(), strict=True)
    ):
        row = {name: int(values[group]) for name, values in sums.items()}
        row_of = {"device": device, "op_class": OP_CLASSES[op_class], "dtype": costs.types[dtype] or None, **row}
        by_device.setdefault(device, []).append(row_of)
    for device, rows in sorted(by_device.items()):
        whole = {"whole": int(work.dur[compute & (work.device == device)].sum())}
        both = {name: sum(row[name] for row in rows) for name in sums}
        yield {"device": device, "op_class": None, "dtype": None, **both, **whole}
        rows.sort(key=lambda row: (-row["total"], row["op_class"], row["dtype"] is None, row["dtype"] or ""))
        yield from ({**row, **whole} for row in rows)


ANALYSES = (Analysis(TENSOR_CORES, tensor_cores),)
