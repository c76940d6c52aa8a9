"""Sheets of a comparison's workbook, as users of the Ascend compare tool know them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from stepscope.model.table import Table
from stepscope.reports.compared.module_rows import module_rows, statistic_rows
from stepscope.reports.text import module_class

#: Above which group of columns a heading stands: neither side's, the base's, the comparison's, or the difference.
Side = Literal["", "base", "new", "diff"]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CompareColumn:
    """A column of a sheet.

    Attributes:
        heading: What stands above it.
        value: Its value in a row of the table.
        side: The group that it belongs to.
        form: Its number format; empty for text.
        lines: Whether its texts are lines, one below the other.
    """

    heading: str
    value: Callable[[Row], Any]
    side: Side = ""
    form: str = ""
    lines: bool = False


@dataclass(frozen=True, slots=True)
class CompareSheet:
    """A sheet.

    Attributes:
        name: Its name.
        table: Table of the comparison that it shows.
        columns: Its columns, from the left.
        rows: Makes its rows, where they are not those of the table.
    """

    name: str
    table: str
    columns: tuple[CompareColumn, ...]
    rows: Callable[[Mapping[str, Table]], list[dict[str, Any]]] | None = None


#: Stands for the ratio to nothing.
NEW: Final = "new"
_TIME: Final = "#,##0.000"
_RATIO: Final = "0.0000"
_COUNT: Final = "#,##0.##"


def _of(column: str, divisor: float = 1) -> Callable[[Row], Any]:
    return lambda row: row[column] / divisor if divisor != 1 and row[column] is not None else row[column]


def _maybe(column: str, divisor: float = 1) -> Callable[[Row], Any]:
    """The same of a column that some rows lack."""
    return lambda row: None if row.get(column) is None else _of(column, divisor)(row)


def _mean(column: str, divisor: float) -> Callable[[Row], Any]:
    count = column.replace("_ns", "_count")
    return lambda row: row[column] / row[count] / divisor if row[count] else None


def _both(heading: str, column: str, divisor: float = 1, form: str = _TIME) -> tuple[CompareColumn, CompareColumn]:
    """A column of the base and one of the comparison, from columns `base_...` and `new_...`."""
    return (CompareColumn(heading, _of(f"base_{column}", divisor), "base", form),
            CompareColumn(heading, _of(f"new_{column}", divisor), "new", form))  # fmt: skip


def _groups(*pairs: tuple[CompareColumn, CompareColumn]) -> tuple[CompareColumn, ...]:
    """All columns of the base, then all of the comparison."""
    return (*(base for base, _ in pairs), *(new for _, new in pairs))


def _means(heading: str, divisor: float) -> tuple[CompareColumn, CompareColumn]:
    return (CompareColumn(heading, _mean("base_ns", divisor), "base", _TIME),
            CompareColumn(heading, _mean("new_ns", divisor), "new", _TIME))  # fmt: skip


def _ratio_of(base: str, new: str) -> Callable[[Row], Any]:
    """The ratio of two columns; `NEW` where the base has nothing and the comparison has something."""
    return lambda row: row[new] / row[base] if row[base] else NEW if row[new] else None


def _ratio(row: Row) -> Any:
    return _ratio_of("base_bytes", "new_bytes")(row) if "base_bytes" in row else _ratio_of("base_ns", "new_ns")(row)


def _mean_ratio(row: Row) -> float | None:
    """Mean duration of the new side over that of the base."""
    if not (row["base_ns"] and row["base_count"] and row["new_count"]):
        return None
    return float(row["new_ns"] / row["new_count"] / (row["base_ns"] / row["base_count"]))


def _allocated(side: str) -> Callable[[Row], Any]:
    """Allocations of a side by number and mean size."""

    def words(row: Row) -> str | None:
        number, size = row[f"{side}_count"], row[f"{side}_bytes"]
        return f"{number:,.6g} × {size / number / 2**10:,.1f} KB" if number else None

    return words


def _kernels(side: Side) -> CompareColumn:
    """The kernels that a side launched, a line for each."""
    return CompareColumn("Kernel Details", lambda row: "\n".join(row[f"{side}_kernels"]), side, lines=True)


_RATIO_COLUMN: Final = CompareColumn("Diff Ratio", _ratio, "diff", _RATIO)
_CALLS: Final = _both("Number", "count", 1, _COUNT)

_MEAN_RATIO: Final = CompareColumn("Diff Avg Ratio", _mean_ratio, "diff", _RATIO)
_SPREAD: Final = (_means("Avg Duration(us)", 1e3), _both("Max Duration(us)", "max_ns", 1e3),
                  _both("Min Duration(us)", "min_ns", 1e3))  # fmt: skip
_KERNEL_COLUMNS: Final = (
    *_groups(_both("Total Duration(us)", "ns", 1e3), *_SPREAD, _both("Calls", "count", 1, _COUNT)),
    CompareColumn("Diff Total Ratio", _ratio, "diff", _RATIO), _MEAN_RATIO,
)  # fmt: skip
_MODULE_COLUMNS: Final = (
    CompareColumn("Module Class", lambda row: module_class(row["name"])),
    CompareColumn("Module Level", _of("depth"), "", "0"),
)
_STACKS: Final = (
    CompareColumn("Base Call Stack", _maybe("base_stack"), "diff"),
    CompareColumn("Comparison Call Stack", _maybe("new_stack"), "diff"),
)


def _inputs(side: Side) -> tuple[CompareColumn, ...]:
    return (CompareColumn("Input Shape", _of(f"{side}_shapes"), side),
            CompareColumn("Input Type", _of(f"{side}_dtypes"), side))  # fmt: skip


SHEETS: Final = (
    CompareSheet("OverallMetrics", "overall", (
        CompareColumn("Index", lambda row: "    " * row["level"] + row["index"]),
        *_groups(_both("Duration(ms)", "ns", 1e6), _both("Duration Ratio", "share", 1, "0.00%"),
                 _both("Number", "count", 1, "0;;/")),
        CompareColumn("Diff Duration(ms)", _of("diff_ns", 1e6), "diff", _TIME), _RATIO_COLUMN,
    )),
    CompareSheet("OperatorCompareStatistic", "compute_operators", (
        CompareColumn("Operator Name", _of("operator")),
        *_groups(_both("Device Duration(ms)", "ns", 1e6), _CALLS),
        CompareColumn("Diff Duration(ms)", _of("diff_ns", 1e6), "diff", _TIME), _RATIO_COLUMN,
    )),
    CompareSheet("OperatorCompare", "compute_calls", (
        CompareColumn("Operator Name", _of("base_path"), "base"), *_inputs("base"),
        _kernels("base"),
        CompareColumn("Device Duration(us)", _of("base_ns", 1e3), "base", _TIME),
        CompareColumn("Number", _of("base_count"), "base", _COUNT),
        CompareColumn("Operator Name", _of("new_path"), "new"), *_inputs("new"),
        _kernels("new"),
        CompareColumn("Device Duration(us)", _of("new_ns", 1e3), "new", _TIME),
        CompareColumn("Number", _of("new_count"), "new", _COUNT),
        CompareColumn("Diff Duration(us)", _of("diff_ns", 1e3), "diff", _TIME), _RATIO_COLUMN,
        CompareColumn("Match", _of("match"), "diff"),
    )),
    CompareSheet("ModuleCompareStatistic", "compute_modules", (
        *_MODULE_COLUMNS,
        CompareColumn("Module Name", _of("module")), CompareColumn("Operator Name", _of("operator")),
        _kernels("base"),
        CompareColumn("Device Self Time(ms)", _of("base_ns", 1e6), "base", _TIME),
        CompareColumn("Number", _of("base_count"), "base", _COUNT),
        CompareColumn("Device Total Time(ms)", _of("base_total_ns", 1e6), "base", _TIME),
        CompareColumn("Backward Time(ms)", _maybe("base_backward_ns", 1e6), "base", _TIME),
        _kernels("new"),
        CompareColumn("Device Self Time(ms)", _of("new_ns", 1e6), "new", _TIME),
        CompareColumn("Number", _of("new_count"), "new", _COUNT),
        CompareColumn("Device Total Time(ms)", _of("new_total_ns", 1e6), "new", _TIME),
        CompareColumn("Backward Time(ms)", _maybe("new_backward_ns", 1e6), "new", _TIME),
        CompareColumn("Device Total Time Diff(ms)", _of("diff_total_ns", 1e6), "diff", _TIME),
        CompareColumn("Device Self Time Diff(ms)", _of("diff_ns", 1e6), "diff", _TIME),
        CompareColumn("Diff Total Ratio", _ratio_of("base_total_ns", "new_total_ns"), "diff", _RATIO), *_STACKS,
    ), statistic_rows),
    CompareSheet("ModuleCompare", "compute_modules", (
        *_MODULE_COLUMNS,
        CompareColumn("Module Name", _of("module")), CompareColumn("Operator Name", _of("operator")),
        _kernels("base"),
        CompareColumn("Device Self Time(us)", _of("base_ns", 1e3), "base", _TIME),
        CompareColumn("Number", _of("base_count"), "base", _COUNT),
        CompareColumn("Device Total Time(us)", _of("base_total_ns", 1e3), "base", _TIME),
        _kernels("new"),
        CompareColumn("Device Self Time(us)", _of("new_ns", 1e3), "new", _TIME),
        CompareColumn("Number", _of("new_count"), "new", _COUNT),
        CompareColumn("Device Total Time(us)", _of("new_total_ns", 1e3), "new", _TIME),
        CompareColumn("Device Total Time Diff(us)", _of("diff_total_ns", 1e3), "diff", _TIME),
        CompareColumn("Device Self Time Diff(us)", _of("diff_ns", 1e3), "diff", _TIME),
        CompareColumn("Diff Total Ratio", _ratio_of("base_total_ns", "new_total_ns"), "diff", _RATIO),
        CompareColumn("Match", _of("match"), "diff"), *_STACKS,
    ), module_rows),
    CompareSheet("MemoryCompareStatistic", "memory", (
        CompareColumn("Operator Name", _of("name")),
        *_groups(_both("Allocated Duration(ms)", "held_ns", 1e6), _both("Allocated Memory(MB)", "bytes", 2**20),
                 _CALLS),
        CompareColumn("Diff Memory(MB)", _of("diff_bytes", 2**20), "diff", _TIME), _RATIO_COLUMN,
    )),
    CompareSheet("MemoryCompare", "memory_calls", (
        CompareColumn("Operator Name", _of("base_path"), "base"), *_inputs("base"),
        CompareColumn("Allocated Details", _allocated("base"), "base"),
        CompareColumn("Size(KB)", _of("base_bytes", 2**10), "base", _TIME),
        CompareColumn("Number", _of("base_count"), "base", _COUNT),
        CompareColumn("Operator Name", _of("new_path"), "new"), *_inputs("new"),
        CompareColumn("Allocated Details", _allocated("new"), "new"),
        CompareColumn("Size(KB)", _of("new_bytes", 2**10), "new", _TIME),
        CompareColumn("Number", _of("new_count"), "new", _COUNT),
        CompareColumn("Diff Size(KB)", _of("diff_bytes", 2**10), "diff", _TIME), _RATIO_COLUMN,
        CompareColumn("Match", _of("match"), "diff"),
    )),
    CompareSheet("CommunicationCompare", "communication", (
        CompareColumn("Communication OP Name", _of("name")), CompareColumn("Task Name", _of("task")),
        *_groups(_both("Calls", "count", 1, _COUNT), _both("Total Duration(us)", "ns", 1e3),
                 *_SPREAD),
        CompareColumn("Diff Duration(us)", _of("diff_ns", 1e3), "diff", _TIME), _RATIO_COLUMN,
    )),
    CompareSheet("ApiCompare", "api", (
        CompareColumn("api name", _of("name")),
        *_groups(_both("Total Duration(ms)", "ns", 1e6), _both("Self Time(ms)", "self_ns", 1e6),
                 _means("Avg Duration(ms)", 1e6), _both("Calls", "count", 1, _COUNT)),
        CompareColumn("Diff Duration(ms)", _of("diff_ns", 1e6), "diff", _TIME), _RATIO_COLUMN,
        CompareColumn("Diff Self Ratio", _ratio_of("base_self_ns", "new_self_ns"), "diff", _RATIO), _MEAN_RATIO,
        CompareColumn("Diff Calls Ratio", _ratio_of("base_count", "new_count"), "diff", _RATIO),
    )),
    CompareSheet("KernelCompare", "kernel_shapes", (
        CompareColumn("Kernel", _of("kernel")), CompareColumn("Input Shape", _of("shapes")), *_KERNEL_COLUMNS,
    )),
    CompareSheet("KernelTypeCompare", "kernel_types", (
        CompareColumn("Kernel Type", _of("type")), CompareColumn("Core Type", _of("core")), *_KERNEL_COLUMNS,
    )),
    CompareSheet("KernelOperatorCompare", "compute_kernels", (
        CompareColumn("Kernel", _of("kernel")), CompareColumn("Operator Name", _of("operator")),
        CompareColumn("Kernel Type", _of("op_class")),
        *_groups(_both("Total Duration(us)", "ns", 1e3), _means("Avg Duration(us)", 1e3),
                 _both("Calls", "count", 1, _COUNT)),
        CompareColumn("Diff Duration(us)", _of("diff_ns", 1e3), "diff", _TIME), _RATIO_COLUMN,
    )),
)  # fmt: skip
