"""Sum tables over ranks: rows that agree in some columns become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.model.schema import Column
from stepscope.model.table import Table

#: Columns that are added; everything else but `min_ns` and `max_ns` is a property of its row.
_SUMS: Final = frozenset(
    {
        "count", "total_ns", "self_ns", "runtime_ns", "self_device_ns", "self_device_busy_ns", "total_device_ns",
        "device_ns", "backward_ns", "kernels", "activities", "bytes", "flops", "least_ns", "comm_ns", "overlapped_ns",
        "exposed_ns", "busy_ns", "idle_ns", "refill_ns", "blocked_ns", "blocked_calls", "blocking", "short_work",
        "tensor_core_ns", "used_ns", "unused_ns", "unknown_ns", "unattributed", "unattributed_ns", "host_ns", "names",
        "without_activity", "brief_bytes", "wait_ns", "recorded_ns", "computed_ns", "difference_ns",
    }
)  # fmt: skip

_INT64: Final = np.iinfo(np.int64)
#: How two values become one, and what the first one is added to or compared with.
_WAYS: Final[dict[str, tuple[np.ufunc, int]]] = {
    "sum": (np.add, 0), "min": (np.minimum, int(_INT64.max)), "max": (np.maximum, int(_INT64.min)),
}  # fmt: skip


def rollup(table: Table, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of the table grouped by `keys`, the largest total first.

    Counts, totals and bytes are added, `min_ns` and `max_ns` are the least and greatest, `mean_ns` and `share` follow
    from the sums. What does not follow from the rows, such as a median, is None in groups of several rows.
    """
    keys = [key for key in keys if key in table.schema.names]
    if not keys or not len(table):
        return _ordered(table.records())
    # Arrow would group as well, but only after importing all that it can read, which takes longer than everything here.
    numbers: dict[tuple[Any, ...], int] = {}
    of_key = zip(*(table.column(key) for key in keys), strict=True)
    group = np.array([numbers.setdefault(key, len(numbers)) for key in of_key])
    size = np.bincount(group)
    rows: list[dict[str, Any]] = table.arrow.take(pa.array(np.unique(group, return_index=True)[1])).to_pylist()
    whole = sum(total or 0 for total in table.column("total_ns")) if "total_ns" in table.schema.names else 0
    several = "rank" in table.schema.names and len(set(table.column("rank"))) > 1
    for column in table.schema.columns if len(rows) < len(table) else ():
        if column.name not in keys:
            how = _how(column)
            merged = _merged(table.arrow[column.name], how, group, size) if how else {}
            for number in np.flatnonzero(size > 1).tolist():
                rows[number][column.name] = merged.get(number)
    for row, many in zip(rows, (size > 1).tolist(), strict=True):
        if many:
            _derive(row, whole)
        elif several and "share" in row and whole:
            # A row that only one rank has is a share of that rank's time; here it is one of all ranks'.
            row["share"] = (row["total_ns"] or 0) / whole
    return _ordered(rows)


def _merged(values: pa.ChunkedArray, how: str, group: NDArray[np.int64], size: NDArray[np.int64]) -> dict[int, Any]:
    """What a column comes to in each group of several rows that has a value; nulls do not count."""
    known = values.is_valid().to_numpy() & (size > 1)[group]
    group = group[known]
    merge, start = _WAYS[how]
    kept = values.filter(known).to_numpy()
    found = np.full(len(size), start, np.result_type(kept, np.int64))  # sums of FLOPs are no integers
    merge.at(found, group, kept)
    members = np.unique(group)
    return dict(zip(members.tolist(), found[members].tolist(), strict=True))


def _how(column: Column) -> str | None:
    if column.name in ("min_ns", "max_ns"):
        return column.name[:3]
    if column.name == "largest_bytes":
        return "max"
    return "sum" if column.name in _SUMS else None


def _derive(row: dict[str, Any], whole: int) -> None:
    """Compute the columns that follow from the sums."""
    total = row.get("total_ns")
    if "mean_ns" in row and total is not None and row.get("count"):
        row["mean_ns"] = total // row["count"]
    if "share" in row and total is not None and whole:
        row["share"] = total / whole
    for name, part, factor in (
        ("bandwidth", "bytes", 1e9),
        ("flop_rate", "flops", 1e9),
        ("byte_rate", "bytes", 1e9),
        ("efficiency", "least_ns", 1.0),
    ):
        if name in row and total and row.get(part) is not None:
            row[name] = factor * row[part] / total


def _ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if rows and "total_ns" in rows[0]:
        rows.sort(key=lambda row: (-(row["total_ns"] or 0), str(row.get("name"))))
    return rows
