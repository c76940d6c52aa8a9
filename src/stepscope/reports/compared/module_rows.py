"""Rows of sheet ModuleCompare: each module with its total, then the operators in it and in no inner module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from stepscope.model.table import Table

_TOTAL: Final = "[ TOTAL ]"
#: Columns of operators of one name that add up.
_SUMS: Final = (
    "base_ns", "new_ns", "diff_ns", "base_count", "new_count", "base_total_ns", "new_total_ns", "diff_total_ns"
)  # fmt: skip


def module_rows(tables: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Modules in the order of their paths, what lies in none last, each followed by its operators."""
    calls: defaultdict[str | None, list[dict[str, Any]]] = defaultdict(list)
    for row in tables["compute_calls"].records() if "compute_calls" in tables else []:
        calls[row["module"]].append(row)
    modules = sorted(tables["compute_modules"].records(), key=lambda row: (_path(row) is None, _path(row) or ""))
    found: list[dict[str, Any]] = []
    for module in modules:
        path = _path(module)
        total = {"module": path, "operator": _TOTAL, "base_kernels": (), "new_kernels": (),
                 "diff_total_ns": module["new_total_ns"] - module["base_total_ns"]}  # fmt: skip
        found.append(module | total)
        for call in calls[path]:
            inside = (call["base_path"] or call["new_path"] or call["name"])[len(f"{path} / ") if path else 0 :]
            shown = {"name": module["name"], "depth": module["depth"], "module": path, "operator": inside,
                     "base_total_ns": call["base_ns"], "new_total_ns": call["new_ns"],
                     "diff_total_ns": call["diff_ns"]}  # fmt: skip
            found.append(call | shown)
    return found


def statistic_rows(tables: Mapping[str, Table]) -> list[dict[str, Any]]:
    """The same with the operators of one name in a module as one row."""
    found: list[dict[str, Any]] = []
    together: dict[tuple[str | None, str], dict[str, Any]] = {}
    for row in module_rows(tables):
        if row["operator"] == _TOTAL:
            found.append(row)
            continue
        name = str(row["operator"]).rpartition(" / ")[2]
        known = together.get((row["module"], name))
        if known is None:
            known = together[row["module"], name] = {**row, "operator": name}
            found.append(known)
            continue
        for column in _SUMS:
            known[column] += row[column]
        for column in ("base_kernels", "new_kernels"):
            known[column] = [*known[column], *row[column]]
    return found


def _path(module: Mapping[str, Any]) -> str | None:
    path: str | None = module["base_path"] or module["new_path"]
    return path
