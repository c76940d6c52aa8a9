"""Efficiency of operators against the roofline of their device, by operator and by operator with its shapes.

The least time of a call is the larger of FLOPs / peak FLOP/s and bytes / memory bandwidth (Williams, Waterman and
Patterson, "Roofline", CACM 52(4), 2009); efficiency is least time / measured time. Bytes count every input and output
once, so operators whose data stay in caches can exceed the memory's bandwidth.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.kernels.roofline_operations import Columns, operations
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, nonempty, nullable, ordered_table, shares, texts
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, fraction, ns, number, size, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

_OWN: Final = (
    text("op_class", "Class of its kernel."),
    text("dtype", "Data type: of the kernel's name, else of the first input; null if unknown.", nullable=True),
    number("flops", "Sum of the floating-point operations.", "FLOP"),
    size("bytes", "Sum of the bytes read and written; null if one call's are unknown.", nullable=True),
    number("intensity", "flops / bytes; null where bytes are unknown or 0.", "FLOP/byte", nullable=True),
    number("flop_rate", "flops / total_ns; null if no time passed.", "FLOP/s", nullable=True),
    number("byte_rate", "bytes / total_ns; null likewise.", "bytes/s", nullable=True),
    text("peak", "The peak assumed: device, data type and kind of unit; null if none is known.", nullable=True),
    number("peak_flop_rate", "Its rate; null likewise.", "FLOP/s", nullable=True),
    number("peak_byte_rate", "The device's memory bandwidth; null if unknown.", "bytes/s", nullable=True),
    ns("least_ns", "Sum of the least times, each rounded down; null if a peak or the bytes are unknown.",
       nullable=True),
    fraction("efficiency", "least_ns / total_ns. Above 1 the data came from caches (see `bound`), or the assumed peak "
             "is wrong.", nullable=True),
    text("bound", "compute or memory: which of the two takes most of the least time; cache if that is memory, yet the "
         "calls were faster than memory is; null if unknown.", nullable=True),
)  # fmt: skip


def _schema(name: str, by: str, *own: Column) -> TableSchema:
    return TableSchema(
        name,
        f"Operators with a known cost, by {by}. Times are those of all device work that they launched themselves.",
        (
            *summary_columns("operator", "the time of all operators with a known cost"),
            RANK,
            Column("device", "int32", "Device index; null if not recorded.", "", True),
            *own,
            *_OWN,
        ),
    )


ROOFLINE = _schema("roofline", "name, class and data type")
ROOFLINE_SHAPES = _schema(
    "roofline_shapes", "name, shapes, class and data type", text("shapes", "Shapes of the inputs, JSON.", nullable=True)
)

_TIES: Final = ("device", "op_class", "dtype", "peak", "shapes")


def roofline(trace: Trace) -> Table:
    """Compare operators with the roofline of their device.

    Raises:
        MissingInputError: No operator of the recording has a known cost.
    """
    return _table(trace, ROOFLINE)


def roofline_shapes(trace: Trace) -> Table:
    """The same for each combination of shapes.

    Raises:
        MissingInputError: No operator of the recording has a known cost.
    """
    return _table(trace, ROOFLINE_SHAPES)


def _table(trace: Trace, schema: TableSchema) -> Table:
    rows, (op_class, dtype, peak, shapes) = trace.once(operations)
    keys = [rows["name_id"], rows["device"], op_class.code, dtype.code, peak.code]
    groups = Groups.by(*keys, *([shapes.code] if schema is ROOFLINE_SHAPES else []))
    first = groups.first
    columns: dict[str, Any] = {
        **groups.summary(rows["dur"]),
        "name": texts(trace, rows["name_id"][first]),
        "share": shares(groups.sum(rows["dur"]), int(rows["dur"].sum())),
        "rank": np.full(first.size, trace.ranks[0]),
        "device": nullable(rows["device"][first], rows["device"][first] < 0),
        "op_class": op_class.at(first),
        "dtype": nonempty(dtype.at(first)),
        "peak": nonempty(peak.at(first)),
        **_measures(rows, groups),
    }
    if schema is ROOFLINE_SHAPES:
        columns["shapes"] = nonempty(shapes.at(first))
    return ordered_table(schema, columns, [column.name for column in schema.columns if column.name in _TIES])


def _measures(rows: Columns, groups: Groups) -> dict[str, Any]:
    first, size = groups.first, groups.count.size
    total = groups.sum(rows["dur"]).astype(np.float64)
    flops = np.bincount(groups.index, rows["flops"], size)
    moved = _sum_of_known(groups, rows["bytes"])
    least = _sum_of_known(groups, rows["least"])
    peak, bandwidth = rows["peak_rate"][first], rows["bandwidth"][first]
    compute = np.bincount(groups.index, np.nan_to_num(rows["by_compute"]), size)
    memory = np.bincount(groups.index, np.nan_to_num(rows["by_memory"]), size)
    with np.errstate(divide="ignore", invalid="ignore"):
        numbers = {
            "intensity": flops / np.where(moved > 0, moved, np.nan),
            "flop_rate": flops * 1e9 / total,
            "byte_rate": np.where(moved < 0, np.nan, moved * 1e9 / total),
            "efficiency": np.where(least < 0, np.nan, least / total),
            "peak_flop_rate": peak,
            "peak_byte_rate": bandwidth,
        }
    bound = np.where(compute >= memory, "compute", np.where(least > total, "cache", "memory"))
    return {
        **{name: nullable(values, ~np.isfinite(values)) for name, values in numbers.items()},
        "flops": flops,
        "bytes": nullable(moved, moved < 0),
        "least_ns": nullable(least, least < 0),
        "bound": nullable(bound, least < 0),
    }


def _sum_of_known(groups: Groups, values: NDArray[Any]) -> Times:
    """Sum of each group, -1 where any of its values is unknown (negative)."""
    return np.where(groups.sum(values < 0) > 0, -1, groups.sum(np.maximum(values, 0)))


ANALYSES = (Analysis(ROOFLINE, roofline), Analysis(ROOFLINE_SHAPES, roofline_shapes))
