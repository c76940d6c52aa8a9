"""Tables of many ranks summed up: rows that agree in some columns become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from stepscope.model.schema import Column
from stepscope.model.table import Table

#: Columns of times that are not sums.
_NO_SUMS: Final = ("mean_ns", "median_ns", "min_ns", "max_ns")


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
    for row in rows:
        if row.pop("count_all") > 1:
            row.update(dict.fromkeys(others))
            _derive(row, whole)
    return _ordered(rows)


def _how(column: Column) -> str | None:
    if column.name in ("min_ns", "max_ns"):
        return column.name[:3]
    summed = column.unit in ("count", "ns", "bytes", "FLOP") and column.name not in _NO_SUMS
    is_extreme = any(word in column.name for word in ("peak", "largest", "p99", "p95", "max", "min", "start", "end"))
    return "sum" if summed and not is_extreme else None


def _derive(row: dict[str, Any], whole: int | None) -> None:
    if "mean_ns" in row and row.get("count"):
        row["mean_ns"] = row["total_ns"] // row["count"]
    if "share" in row and whole:
        row["share"] = row["total_ns"] / whole


def _ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if rows and "total_ns" in rows[0]:
        rows.sort(key=lambda row: (-(row["total_ns"] or 0), str(row.get("name"))))
    return rows
