"""A sweep as a workbook: the page in front, then a sheet per table."""

from __future__ import annotations

from pathlib import Path

from stepscope.comparison.sweep.result import Sweep
from stepscope.reports.compared.front_sheet import write_page
from stepscope.reports.swept.page import outline
from stepscope.reports.xlsx import Sheets, open_workbook


def write(sweep: Sweep, path: Path) -> None:
    """Write the workbook."""
    with open_workbook(path) as book:
        sheets = Sheets(book, front="Summary")
        write_page(book, sheets.front, outline(sweep))
        for name, table in sweep.tables.items():
            sheets.table(sheets.name(name), table.schema.columns, table.rows())
