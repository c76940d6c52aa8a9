"""How much of the time that matrix units could work they did."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.peaks import MATRIX_CLASSES, known_devices
from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, count, flag, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

TENSOR_CORES = TableSchema(
    "tensor_cores",
    "Device time of the kernels that could use matrix units (tensor cores, matrix cores, cube units), by class and "
    "data type, and one row per device with both null for all of them: total = used + unused + unknown.",
    (
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        text("op_class", "gemm, attention, convolution, or another class with kernels on matrix units; null for all.",
             nullable=True),
        text("dtype", "Data type of the operands, from the kernel's name; null if it does not tell, or for all.",
             nullable=True),
        count("count", "Kernels."),
        ns("total_ns", "Sum of their durations: the eligible time."),
        ns("used_ns", "Kernels that use matrix units, from their names."),
        ns("unused_ns", "Kernels that do not."),
        ns("unknown_ns", "Kernels whose names do not tell."),
        fraction("used_share", "used_ns / (used_ns + unused_ns); null if both are 0.", nullable=True),
        fraction("device_share", "total_ns as a share of the device's compute kernel time."),
        flag("available", "Whether the device has matrix units for the data type (any, if it is null); null if the "
             "device is not known.", nullable=True),
    ),
)  # fmt: skip

_SQL: Final = f"""
WITH rows AS (
    SELECT coalesce(device, -1) AS device, op_class, dtype, dur, tensor_core,
        op_class IN {MATRIX_CLASSES} OR coalesce(tensor_core, false) AS eligible
    FROM kernels WHERE kind = 'compute'
), wholes AS (SELECT device, sum(dur) AS whole FROM rows GROUP BY 1)
SELECT device, op_class, dtype, grouping(op_class) = 1 AS is_all, count(*) AS count, sum(dur)::BIGINT AS total,
    coalesce(sum(dur) FILTER (WHERE tensor_core), 0)::BIGINT AS used,
    coalesce(sum(dur) FILTER (WHERE NOT tensor_core), 0)::BIGINT AS unused, any_value(whole)::BIGINT AS whole
FROM rows JOIN wholes USING (device) WHERE eligible
GROUP BY GROUPING SETS ((device), (device, op_class, dtype))
ORDER BY device, is_all DESC, total DESC, op_class, dtype
"""


def tensor_cores(trace: Trace) -> Table:
    """Measure the use of matrix units; no rows for a device without eligible kernels.

    Raises:
        MissingInputError: The recording has no compute kernel.
    """
    if not trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute'"):
        raise MissingInputError.of("device")
    devices = known_devices(trace)
    rows = []
    for row in trace.rows(_SQL):
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


ANALYSES = (Analysis(TENSOR_CORES, tensor_cores),)
