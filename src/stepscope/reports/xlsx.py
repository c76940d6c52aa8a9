"""The report as a workbook: a sheet per table that has rows, with exact values and units in the headings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import xlsxwriter

from stepscope.language import recalled, told
from stepscope.language.part_words import in_words
from stepscope.model.process.scratch import remove_scratch, scratch_folder
from stepscope.model.schema import Column, count, text
from stepscope.model.table import Table
from stepscope.reports.text import visible

if TYPE_CHECKING:
    from stepscope.reports.contents import Contents
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
#: Units in which people read times and sizes, beside the exact ones.
_READABLE: Final = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs")),
    "bytes": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")),
}
#: Columns of texts that are wrapped, with their widths; a name is one line.
_WRAPPED: Final = {"message": 60, "effect": 60, "title": 40, "summary": 80, "what to do": 80, "also explains": 40}
_NAME_WIDTH: Final = 48
_FINDINGS: Final = (
    text("code", "The rule; `stepscope rules CODE` says how it decides."),
    text("severity", "high (a tenth of the step or more), medium (3 %), low, or advice, which has no price in time."),
    text("title", "What is wrong."),
    Column("cost_ns", "int64", "What the mean step would save; empty for advice.", "ns", True),
    Column("gain_ceiling", "float64", "T / (T - cost) - 1; empty for advice.", "fraction", True),
    text("summary", "What was seen, and why it matters."),
    text("what to do", "The most promising first."),
    text("also explains", "Findings that it is the cause of."),
    text("ranks", "Ranks on which it was seen, the one where it costs most first."),
)
_HEALTH: Final = (
    text("severity", "error (numbers are wrong), warning (some are missing or approximate) or info."),
    text("code", "Stable name of the observation."),
    Column("rank", "int32", "Rank concerned; empty for the input as a whole.", "", True),
    count("count", "How many times it was seen."),
    text("message", "What was seen."),
    text("effect", "What it means for the numbers, and what to record next time."),
)


def write(report: Contents, path: Path, max_rows: int = MAX_ROWS) -> None:
    """Write the workbook.

    Args:
        report: What to write.
        path: File to write.
        max_rows: Rows of a sheet, with its heading; a table that has more ends with a line that says so.
    """
    with open_workbook(path) as book:
        _write(report, Sheets(book, max_rows), max_rows)


@contextmanager
def open_workbook(path: Path) -> Iterator[Any]:
    """A workbook that takes no text for a formula, number or link, and that is written when the block ends.

    Rows wait in files until then; a process that is killed leaves them.
    """
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
            yield book
    finally:
        remove_scratch(folder)


def _write(report: Contents, sheets: Sheets, max_rows: int) -> None:
    # Workbooks of comparisons need neither.
    from stepscope.reports import xlsx_front
    from stepscope.reports.outline import outline

    rows = [
        (
            told(in_words(line.severity)),
            line.code,
            "" if line.rank is None else str(line.rank),
            line.count,
            told(recalled(line.message)),
            told(recalled(line.effect)),
        )
        for line in report.health
    ]
    shown: dict[str, Callable[[str], None]] = {}
    shown["health"] = lambda name: sheets.table(name, _HEALTH, rows)
    if report.diagnosis is not None:
        findings = [_finding(finding) for finding in report.findings]
        shown["findings"] = lambda name: sheets.table(name, _FINDINGS, findings)
    empty = []
    for table_name, table in report.tables.items():
        if report.computed(table_name) and len(table):
            shown[table_name] = partial(_one, sheets, table, max_rows)
        elif report.computed(table_name):
            empty.append(table_name)
    names = {table_name: sheets.name(table_name) for table_name in shown}
    xlsx_front.write(sheets.book, sheets.front, report, outline(report), names, empty)
    for table_name, write_sheet in shown.items():
        write_sheet(names[table_name])


def _one(sheets: Sheets, table: Table, max_rows: int, name: str) -> None:
    sheets.table(name, table.schema.columns, table.head(max_rows).rows(), len(table))


class Sheets:
    """Writes sheets of one workbook.

    Args:
        book: The workbook.
        max_rows: Rows of a sheet, with its heading; a table that has more ends with a line that says so.
        front: Name of the first sheet, which is left empty.
    """

    def __init__(self, book: Any, max_rows: int = MAX_ROWS, front: str = "report") -> None:
        self.book = book
        self._max_rows = max_rows
        self._bold = book.add_format({"bold": True})
        self._head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        # The quote prefix keeps a spreadsheet from making a formula of the text when the cell is edited or exported.
        self._texts = {
            (wrapped, quoted): book.add_format({"text_wrap": wrapped, "quote_prefix": quoted, "valign": "top"})
            for wrapped in (False, True)
            for quoted in (False, True)
        }
        self._numbers: dict[str, Any] = {}
        self._names: set[str] = {front.lower()}
        self.front = book.add_worksheet(front)

    def table(
        self, name: str, columns: tuple[Column, ...], rows: list[tuple[Any, ...]], total: int | None = None
    ) -> None:
        """Write a sheet. Beside exact times and sizes stand the same in a unit that people read."""
        total = len(rows) if total is None else total
        sheet = self.book.add_worksheet(name)
        shown = [each for i, column in enumerate(columns) for each in _shown(i, column, rows)]
        for i, each in enumerate(shown):
            sheet.set_column(i, i, _width(each.heading))
        for i, each in enumerate(shown):
            sheet.write_string(0, i, each.heading, self._head)
            sheet.write_comment(0, i, each.column.description, {"x_scale": 2})
        kept = rows if total < self._max_rows else rows[: self._max_rows - 2]
        for position, row in enumerate(kept, start=1):
            for i, each in enumerate(shown):
                self._cell(sheet, position, i, each.value(row), each)
        if len(kept) < total:
            note = f"{total - len(kept):,} more rows do not fit into a sheet; the JSON report has them"
            sheet.write_string(len(kept) + 1, 0, note, self._bold)
        sheet.freeze_panes(1, 1)
        sheet.autofilter(0, 0, max(1, len(kept)), len(shown) - 1)

    def _cell(self, sheet: Any, row: int, i: int, value: Any, shown: _SheetColumn) -> None:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return
        if isinstance(value, bool):
            sheet.write_boolean(row, i, value)
        elif isinstance(value, (int, float)) and abs(value) <= _MAX_EXACT:
            sheet.write_number(row, i, value, self._number(shown))
        else:
            wrapped = shown.heading in _WRAPPED
            written = fitting(str(value), wrapped)
            sheet.write_string(row, i, written, self._texts[wrapped, written.startswith(_FORMULA)])

    def _number(self, shown: _SheetColumn) -> Any:
        column = shown.column
        code = _FORMATS.get(column.unit, "#,##0" if column.type != "float64" else "#,##0.00")
        if shown.divisor != 1:
            code = "#,##0.000"
        if code not in self._numbers:
            self._numbers[code] = self.book.add_format({"num_format": code, "valign": "top"})
        return self._numbers[code]

    def name(self, name: str) -> str:
        """A name that a sheet may have, and none has yet."""
        base = re.sub(r"[\[\]:*?/\\']", "_", name)[:_MAX_NAME] or "table"
        unique, number = base, 2
        while unique.lower() in self._names:
            unique = f"{base[: _MAX_NAME - len(str(number)) - 1]} {number}"
            number += 1
        self._names.add(unique.lower())
        return unique


def _finding(finding: Finding) -> tuple[Any, ...]:
    """A row of the findings' sheet."""
    actions = "\n".join(told(action.text) for action in finding.actions)
    ranks = ", ".join(map(str, finding.evidence.ranks))
    return (
        finding.code, told(in_words(finding.severity)), told(finding.title), finding.cost_ns, finding.gain_ceiling,
        told(finding.text), actions,
        "; ".join(map(told, finding.symptoms)), ranks,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _SheetColumn:
    """A column of a sheet: one of a table, at `position`, divided by `divisor`."""

    position: int
    column: Column
    heading: str
    divisor: float = 1

    def value(self, row: tuple[Any, ...]) -> Any:
        """Its value in a row of the table."""
        value = row[self.position]
        return value if value is None or self.divisor == 1 else value / self.divisor


def _shown(position: int, column: Column, rows: list[tuple[Any, ...]]) -> Iterator[_SheetColumn]:
    """The column as it is, and for times and sizes a second one, in the unit that suits the largest."""
    suffix = {"ns": "_ns", "bytes": "_bytes"}.get(column.unit, "")
    said = column.unit in ("id", "count", "fraction", "") or (suffix and column.name.endswith(suffix))
    yield _SheetColumn(position, column, column.name if said else f"{column.name} [{column.unit}]")
    if column.unit not in _READABLE or column.type not in ("int64", "int32", "float64"):
        return
    largest = max((abs(row[position]) for row in rows if row[position] is not None), default=0)
    divisor, unit = next((each for each in _READABLE[column.unit] if largest >= each[0]), _READABLE[column.unit][-1])
    name = column.name.removesuffix(suffix).replace("_", " ")
    yield _SheetColumn(position, column, f"{name} [{unit}]", divisor)


def fitting(value: str, lines: bool = False) -> str:
    """Text that a cell can hold, with everything visible that does not show; with `lines`, these stay apart."""
    shown = "\n".join(map(visible, value.split("\n"))) if lines else visible(value)
    return shown if len(shown) <= MAX_CHARACTERS else shown[: MAX_CHARACTERS - len(_CUT)] + _CUT


def _width(heading: str) -> int:
    return max(_NAME_WIDTH if heading == "name" else _WRAPPED.get(heading, 12), len(heading) + 4)
