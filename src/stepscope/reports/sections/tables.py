"""Tables of the report as grids: some columns of the main ones, all columns of those that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from stepscope.language import pattern, said
from stepscope.model.kernel_names.short import short_name
from stepscope.model.schema import Column
from stepscope.model.table import Table
from stepscope.reports.blocks import Block, Grid, Heading, Line, Section
from stepscope.reports.contents import Contents
from stepscope.reports.rollup import rollup
from stepscope.reports.sections.snapshot import lacks_history, over_time
from stepscope.reports.sections.views import BESIDES, MEMORY, RAN, View
from stepscope.reports.units import Scale, scale, time_scale

#: Tables of kernels, whose recorded names begin alike and are cut.
_KERNELS: Final = ("kernels", "operator_ranks")
#: Captions of what a snapshot without a history has in place of a peak.
_OF_MOMENT: Final = {
    "In use at the peak, by purpose": pattern("In use at the moment of the snapshot, by purpose"),
    "In use at the peak, by source line": pattern("In use at the moment of the snapshot, by source line"),
}
#: Bars are left out before any column of numbers.
_BARS_RANK: Final = 90
#: Times of one occurrence, which are compared with each other.
_SINGLE: Final = ("mean_ns", "median_ns", "min_ns", "max_ns", "p99_ns", "delay_median_ns", "per_step_ns")
_HEADINGS: Final = {
    "total_ns": "total", "self_device_ns": "self device", "total_device_ns": "total device", "self_ns": "self host",
    "share": "", "share_of_steps": "of the steps", "op_class": "class",
    "variance": "variance ns²",
}  # fmt: skip


def ran(report: Contents, top: int) -> Section:
    """Kernel classes, kernels, operators and modules."""
    return Section("What ran", grids(report, RAN, top), _whole(report))


def besides(report: Contents, top: int) -> Section:
    """Communication, copies, synchronisations, launches."""
    return Section("Transfers, waits and launches", grids(report, BESIDES, top), _whole(report))


def _whole(report: Contents) -> str:
    """What sums are over, since those above are per step."""
    ranks = said(", over {sources} ranks", sources=len(report.sources)) if len(report.sources) > 1 else ""
    return said("sums of the whole recording{ranks}", ranks=ranks)


def memory(report: Contents, top: int) -> Section:
    """Peaks and who held them; how the allocator used the device's memory."""
    found = grids(report, MEMORY, top)
    if lacks_history(report):
        # Without a history the peak is unknown: rows are of the snapshot's moment.
        found = tuple(
            replace(grid, caption=_OF_MOMENT.get(grid.caption, grid.caption))
            for grid in found if grid.table != "memory_peaks"
        )  # fmt: skip
    return Section("Memory", (*over_time(report), *found) if found else ())


def chosen(report: Contents, top: int) -> Section:
    """The tables that were asked for, with all their columns."""
    blocks: list[Block] = []
    for name, table in report.tables.items():
        if report.computed(name):
            columns = sorted(table.schema.columns, key=_order)
            if table.schema.columns[0].name == "rank" and "name" not in table.schema.names:
                columns = [table.schema["rank"], *(one for one in columns if one.name != "rank")]
            grid = grid_of(
                (_renamed(table, "name", short_name) if name in _KERNELS else table).records(), columns, "", top, name
            )
            empty = () if len(table) else (Line("the table has no rows: nothing in the recording fits it"),)
            blocks += [Line(table.schema.description, tone="plain"), *empty, replace(grid, whole=True)]
    return Section(
        "Tables" if sum(isinstance(one, Grid) for one in blocks) > 1 else "Table",
        tuple(blocks),
        ", ".join(report.selection.tables),
    )


def _order(column: Column) -> int:
    """Texts first, for they tell what a row is about; but a name that rows may lack is long, and a detail."""
    return 2 if column.name == "name" and column.nullable else int(column.type != "string")


def grids(report: Contents, views: Sequence[View], top: int) -> tuple[Grid, ...]:
    """A grid for each view whose table has rows."""
    found = (
        _view(table, view, min(top, view.rows or top))
        for view in views
        if view.table in report.tables and len(table := _chosen_rows(report.tables[view.table], view))
    )
    return tuple(grid for grid in found if grid.headings)


def grid_of(rows: Sequence[dict[str, Any]], columns: Sequence[Column], caption: str, top: int, table: str) -> Grid:
    """A grid of the first `top` rows."""
    shown = rows[:top]
    times = [column.name for column in columns if column.unit == "ns"]
    sums = time_scale(row[name] for name in times if name not in _SINGLE for row in shown)
    single = time_scale((row[name] for name in times if name == "mean_ns" for row in shown), by_smallest=True)
    headings: list[Heading] = []
    cells: list[list[str | float]] = [[] for _ in shown]
    for position, column in enumerate(columns):
        values = [row[column.name] for row in shown]
        shared = single if column.name in _SINGLE else sums
        one = scale(column, values, like=shared if _keeps_digits(shared, column, values) else None)
        headings.append(_heading(column, one, position))
        for cell, value in zip(cells, values, strict=True):
            cell.append(one.write(value))
        if column.name == "share":
            headings.append(Heading("", False, _BARS_RANK, bar=True))
            for cell, value in zip(cells, values, strict=True):
                cell.append(float(value or 0.0))
    return Grid(tuple(headings), tuple(map(tuple, cells)), caption, len(rows) - len(shown), table)


def _keeps_digits(shared: Scale, column: Column, values: Sequence[Any]) -> bool:
    """Whether the scale that times share leaves digits of the largest one of this column; else it has its own."""
    largest = max((abs(value) for value in values if value), default=0) if column.unit == "ns" else 0
    return not 0 < largest < shared.divisor / 10


def _view(table: Table, view: View, top: int) -> Grid:
    names = [name for name in dict.fromkeys((*view.keys, *view.columns)) if name in table.schema.names]
    rows = rollup(_renamed(table, view.keys[0], view.shorten) if view.shorten else table, view.keys)
    if view.order != "total_ns" and view.order in names:
        whole = sum(row[view.order] or 0 for row in rows)
        rows = sorted(rows, key=lambda row: -(row[view.order] or 0))
        for row in rows:
            row["share"] = (row[view.order] or 0) / whole if whole else None
    columns = [table.schema[name] for name in names if name in view.keys or any(row[name] for row in rows[:top])]
    return grid_of(rows, columns, view.caption, top, view.table)


def _chosen_rows(table: Table, view: View) -> Table:
    """The rows of a view: those of its kind that have its key columns."""
    arrow = table.arrow
    if view.only is not None:
        column, value = view.only
        arrow = arrow.filter(pc.equal(arrow[column], value))
    if view.needs:
        arrow = arrow.filter(pc.is_valid(arrow[view.needs]))
    return Table(table.schema, arrow)


def _renamed(table: Table, column: str, shorten: Callable[[str], str]) -> Table:
    """The table with shorter names."""
    short = pa.array([shorten(name) for name in table.column(column)], pa.string())
    return Table(table.schema, table.arrow.set_column(table.schema.names.index(column), column, short))


def _heading(column: Column, one: Scale, position: int) -> Heading:
    plain = column.name.removesuffix("_ns").removesuffix("_bytes").replace("_", " ")
    text = f"{_HEADINGS.get(column.name, plain)} {one.label}".strip()
    is_number = column.type not in ("string", "bool") and not column.type.endswith("[]")
    return Heading(text, is_number, position)
