"""The report as a workbook: a sheet per table, with exact values and units in the headings."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Final

import xlsxwriter

from stepscope.model.schema import Column, count, text
from stepscope.model.scratch import remove_scratch, scratch_folder
from stepscope.model.table import Table
from stepscope.reports.outline import outline
from stepscope.reports.report import Report
from stepscope.reports.text import visible
from stepscope.rules.finding import Finding

#: Limits of the format: rows of a sheet with its heading, characters of a cell and of a sheet's name, and the
#: whole numbers that its floating-point cells hold exactly.
MAX_ROWS: Final = 1_048_576
MAX_CHARACTERS: Final = 32_767
_MAX_NAME: Final = 31
_MAX_EXACT: Final = 2**53
_CUT: Final = "… (cut)"
_FORMULA: Final = ("=", "+", "-", "@")
_FORMATS: Final = {"fraction": "0.0%", "id": "0", "": "General"}
_FINDINGS: Final = (
    text("code", "The rule; `stepscope rules CODE` says how it decides."),
    text("severity", "high (a tenth of the step or more), medium (3 %), low, or advice, which has no price in time."),
    text("title", "What is wrong."),
    Column("cost_ns", "int64", "What the mean step would save; empty for advice.", "ns", True),
    Column("gain_ceiling", "float64", "T / (T - cost) - 1; empty for advice.", "fraction", True),
    text("summary", "What was seen, and why it matters."),
    text("what to do", "The most promising first."),
    text("also explains", "Findings that it is the cause of."),
    text("ranks", "Ranks on which it was seen, the one where it costs most in front."),
)
_HEALTH: Final = (
    text("severity", "error (numbers are wrong), warning (some are missing or approximate) or info."),
    text("code", "Stable name of the observation."),
    Column("rank", "int32", "Rank concerned; empty for the input as a whole.", "", True),
    count("count", "How many times it was seen."),
    text("message", "What was seen."),
    text("effect", "What it means for the numbers, and what to record next time."),
)


def write(report: Report, path: Path, max_rows: int = MAX_ROWS) -> None:
    """Write the workbook.

    Args:
        report: What to write.
        path: File to write.
        max_rows: Rows of a sheet, with its heading; a table that has more ends with a line that says so.
    """
    # Rows wait in files until the workbook is closed; a process that is killed leaves them.
    folder = scratch_folder()
    options = {
        "tmpdir": str(folder),
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "constant_memory": True,
        "in_memory": False,
    }
    try:
        with xlsxwriter.Workbook(str(path), options) as book:
            _write(report, _Sheets(book, max_rows), max_rows)
    finally:
        remove_scratch(folder)


def _write(report: Report, sheets: _Sheets, max_rows: int) -> None:
    page = outline(report)
    sheets.overview([page.title, *page.facts])
    rows = [
        (line.severity, line.code, "" if line.rank is None else str(line.rank), line.count, line.message, line.effect)
        for line in report.health
    ]
    sheets.table("health", _HEALTH, rows)
    if report.diagnosis is not None:
        sheets.table("findings", _FINDINGS, [_finding(finding) for finding in report.findings])
    for name, table in report.tables.items():
        if report.computed(name):
            sheets.table(name, table.schema.columns, _rows(table, max_rows), len(table))


class _Sheets:
    """Writes sheets of one workbook."""

    def __init__(self, book: Any, max_rows: int) -> None:
        self._book = book
        self._max_rows = max_rows
        self._bold = book.add_format({"bold": True})
        self._head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        # The quote prefix keeps a spreadsheet from making a formula of the text when the cell is edited or exported.
        self._text = book.add_format({"quote_prefix": True})
        self._numbers: dict[str, Any] = {}
        self._names: set[str] = set()

    def overview(self, lines: list[str]) -> None:
        sheet = self._book.add_worksheet("report")
        self._names.add("report")
        sheet.set_column(0, 0, 100)
        for row, line in enumerate(lines):
            sheet.write_string(row, 0, _fitting(line), self._bold if row == 0 else None)

    def table(
        self, name: str, columns: tuple[Column, ...], rows: list[tuple[Any, ...]], total: int | None = None
    ) -> None:
        total = len(rows) if total is None else total
        sheet = self._book.add_worksheet(self._name(name))
        for i, column in enumerate(columns):
            unit = f" [{column.unit}]" if column.unit and column.unit not in ("id", "count") else ""
            sheet.set_column(i, i, _width(column, unit))
        for i, column in enumerate(columns):
            unit = f" [{column.unit}]" if column.unit and column.unit not in ("id", "count") else ""
            sheet.write_string(0, i, column.name + unit, self._head)
            sheet.write_comment(0, i, column.description, {"x_scale": 2})
        kept = rows if total < self._max_rows else rows[: self._max_rows - 2]
        for position, row in enumerate(kept, start=1):
            for i, value in enumerate(row):
                self._cell(sheet, position, i, value, columns[i])
        if len(kept) < total:
            note = f"{total - len(kept):,} more rows do not fit into a sheet; the JSON report has them"
            sheet.write_string(len(kept) + 1, 0, note, self._bold)
        sheet.freeze_panes(1, 1)
        sheet.autofilter(0, 0, max(1, len(kept)), len(columns) - 1)

    def _cell(self, sheet: Any, row: int, i: int, value: Any, column: Column) -> None:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return
        if isinstance(value, bool):
            sheet.write_boolean(row, i, value)
        elif isinstance(value, (int, float)) and abs(value) <= _MAX_EXACT:
            sheet.write_number(row, i, value, self._number(column))
        else:
            written = _fitting(str(value))
            sheet.write_string(row, i, written, self._text if written.startswith(_FORMULA) else None)

    def _number(self, column: Column) -> Any:
        code = _FORMATS.get(column.unit, "#,##0" if column.type != "float64" else "#,##0.00")
        if code not in self._numbers:
            self._numbers[code] = self._book.add_format({"num_format": code})
        return self._numbers[code]

    def _name(self, name: str) -> str:
        base = re.sub(r"[\[\]:*?/\\']", "_", name)[:_MAX_NAME] or "table"
        unique, number = base, 2
        while unique.lower() in self._names:
            unique = f"{base[: _MAX_NAME - len(str(number)) - 1]} {number}"
            number += 1
        self._names.add(unique.lower())
        return unique


def _finding(finding: Finding) -> tuple[Any, ...]:
    """A row of the findings' sheet."""
    actions = "\n".join(action.text for action in finding.actions)
    ranks = ", ".join(map(str, finding.evidence.ranks))
    return (
        finding.code, finding.severity, finding.title, finding.cost_ns, finding.gain_ceiling, finding.summary, actions,
        "; ".join(finding.symptoms), ranks,
    )  # fmt: skip


def _rows(table: Table, max_rows: int) -> list[tuple[Any, ...]]:
    return table.head(max_rows).rows()


def _fitting(value: str) -> str:
    shown = visible(value)
    return shown if len(shown) <= MAX_CHARACTERS else shown[: MAX_CHARACTERS - len(_CUT)] + _CUT


def _width(column: Column, unit: str) -> int:
    least = 48 if column.name in ("name", "message", "effect", "title", "summary", "what to do") else 12
    return max(least, len(column.name) + len(unit) + 4)
