"""Tables of many ranks summed up: rows that agree in some columns become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from stepscope.model.schema import Column
from stepscope.model.table import Table

#: Columns that are added; everything else but `min_ns` and `max_ns` is a property of its row.
_SUMS: Final = frozenset(
    {
        "count", "total_ns", "self_ns", "runtime_ns", "self_device_ns", "self_device_busy_ns", "total_device_ns",
        "device_ns", "backward_ns", "kernels", "activities", "bytes", "flops", "least_ns", "comm_ns", "overlapped_ns",
        "exposed_ns", "busy_ns", "idle_ns", "refill_ns", "blocked_ns", "blocked_calls", "blocking", "short_work",
        "tensor_core_ns", "used_ns", "unused_ns", "unknown_ns", "unattributed", "unattributed_ns", "host_ns", "names",
        "without_activity", "wait_ns", "recorded_ns", "computed_ns", "difference_ns",
    }
)  # fmt: skip


def rollup(table: Table, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of the table grouped by `keys`, the largest total first.

    Counts, totals and bytes are added, `min_ns` and `max_ns` are the least and greatest, `mean_ns` and `share` follow
    from the sums. What can't be told from the rows, such as a median, is None in groups of several rows.
    """
    keys = [key for key in keys if key in table.schema.names]
    if not keys or not len(table):
        return _ordered(table.records())
    aggregates = [(c.name, how) for c in table.schema.columns if c.name not in keys and (how := _how(c))]
    others = [c.name for c in table.schema.columns if c.name not in keys and not _how(c)]
    plain = [name for name in others if not pa.types.is_list(table.arrow.schema.field(name).type)]
    grouped = table.arrow.group_by(keys, use_threads=False).aggregate(
        [*aggregates, *((name, "first") for name in plain), ([], "count_all")]
    )
    names = {f"{name}_{how}": name for name, how in aggregates} | {f"{name}_first": name for name in plain}
    rows = grouped.rename_columns([names.get(name, name) for name in grouped.column_names]).to_pylist()
    whole = pc.sum(table.arrow["total_ns"]).as_py() if "total_ns" in table.schema.names else None
    several = "rank" in table.schema.names and len(pc.unique(table.arrow["rank"])) > 1
    for row in rows:
        if row.pop("count_all") > 1:
            row.update(dict.fromkeys(others))
            _derive(row, whole)
        elif several and "share" in row and whole:
            # A row that only one rank has is a share of that rank's time; here it is one of all ranks'.
            row["share"] = (row["total_ns"] or 0) / whole
    return _ordered(rows)


def _how(column: Column) -> str | None:
    if column.name in ("min_ns", "max_ns"):
        return column.name[:3]
    return "sum" if column.name in _SUMS else None


def _derive(row: dict[str, Any], whole: int | None) -> None:
    """Fill in what follows from the sums."""
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
