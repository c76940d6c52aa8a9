"""Tables of the report as grids: a few columns of the best known ones, all of those that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stepscope.model.kernel_names import classify
from stepscope.model.schema import Column
from stepscope.model.table import Table
from stepscope.reports.outline import Grid, Heading, Section
from stepscope.reports.report import Report
from stepscope.reports.rollup import rollup
from stepscope.reports.sections.views import BESIDES, RAN, View
from stepscope.reports.units import Scale, scale

#: Bars are left out before any column of numbers.
_BARS_RANK: Final = 90


def ran(report: Report, top: int) -> Section:
    """Kernel classes, kernels, operators and modules."""
    return Section("What ran", _grids(report, RAN, top), aside="totals over all ranks" if _many(report) else "")


def besides(report: Report, top: int) -> Section:
    """Communication, copies, synchronisations, launches, memory."""
    return Section("And besides", _grids(report, BESIDES, top))


def chosen(report: Report, top: int) -> Section:
    """The tables that were asked for, with all their columns."""
    grids = (
        grid_of(table.records(), table.schema.columns, table.schema.description, top, name)
        for name, table in report.tables.items()
        if report.computed(name)
    )
    return Section("Tables", tuple(grids))


def grid_of(
    rows: Sequence[dict[str, Any]], columns: Sequence[Column], caption: str, top: int, table: str, kernels: bool = False
) -> Grid:
    """A grid of the first `top` rows; text comes first, then numbers in the order given."""
    shown = rows[:top]
    headings: list[Heading] = []
    cells: list[list[str | float]] = [[] for _ in shown]
    for position, column in enumerate(columns):
        values = [row[column.name] for row in shown]
        if kernels and column.name == "name":
            values = [classify(value).short for value in values]
        one = scale(column, values)
        headings.append(_heading(column, one, position))
        for cell, value in zip(cells, values, strict=True):
            cell.append(one.write(value))
        if column.name == "share":
            headings.append(Heading("", False, _BARS_RANK, bar=True))
            for cell, value in zip(cells, values, strict=True):
                cell.append(value or 0.0)
    return Grid(tuple(headings), tuple(map(tuple, cells)), caption, len(rows) - len(shown), table)


def _grids(report: Report, views: Sequence[View], top: int) -> tuple[Grid, ...]:
    return tuple(
        _view(report.tables[view.table], view, min(top, view.rows or top))
        for view in views
        if view.table in report.tables and len(report.tables[view.table])
    )


def _view(table: Table, view: View, top: int) -> Grid:
    names = [name for name in dict.fromkeys((*view.keys, *view.columns)) if name in table.schema.names]
    columns = [table.schema[name] for name in names]
    return grid_of(rollup(table, view.keys), columns, view.caption, top, view.table, view.kernels)


def _heading(column: Column, one: Scale, position: int) -> Heading:
    text = column.name.removesuffix("_ns").removesuffix("_bytes").replace("_", " ")
    is_number = column.type not in ("string", "bool") and not column.type.endswith("[]")
    return Heading(f"{text} {one.label}".rstrip(), is_number, position)


def _many(report: Report) -> bool:
    return len(report.sources) > 1
