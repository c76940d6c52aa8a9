"""A comparison as a workbook: base beside comparison, with differences and ratios, the worst rows in colour."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

from stepscope.comparison.result import Comparison
from stepscope.language import said, told
from stepscope.reports.compared.front_sheet import write_page
from stepscope.reports.compared.outline import outline
from stepscope.reports.compared.sheets import NEW, SHEETS, CompareColumn, CompareSheet
from stepscope.reports.xlsx import MAX_ROWS, fitting, open_workbook

#: Rows above the headings: whose columns they are, and what a row is about.
_HEAD: Final = 2
_ORDER: Final = "Order Id"
_FORMULA: Final = ("=", "+", "-", "@")
_WIDE: Final = 46
_COLOURS: Final = {"base": "#dbe8f6", "new": "#fbe5d6", "diff": "#e2efda", "": "#eeeeee"}
_ABOUT: Final = {"overall": said("whole recordings")}


def write(comparison: Comparison, path: Path) -> None:
    """Write the workbook."""
    with open_workbook(path) as book:
        writer = _ComparedSheets(book, comparison)
        writer.front()
        for sheet in SHEETS:
            if sheet.table in comparison.tables and len(comparison.tables[sheet.table]):
                writer.sheet(sheet)


class _ComparedSheets:
    """Writes the sheets of one workbook."""

    def __init__(self, book: Any, comparison: Comparison) -> None:
        self._book, self._comparison = book, comparison
        self._bold = book.add_format({"bold": True})
        self._texts = {
            (wrapped, quoted): book.add_format({"text_wrap": wrapped, "quote_prefix": quoted})
            for wrapped in (False, True)
            for quoted in (False, True)
        }
        self._heads = {
            side: book.add_format({"bold": True, "bg_color": colour, "border": 1, "text_wrap": True})
            for side, colour in _COLOURS.items()
        }
        self._numbers: dict[str, Any] = {}
        self._new = book.add_format({"font_color": "#9c0006", "bg_color": "#ffc7ce", "align": "right"})
        self._worse = book.add_format({"font_color": "#9c0006", "bg_color": "#ffc7ce"})

    def front(self) -> None:
        """The page's lines and tables, as text."""
        write_page(self._book, self._book.add_worksheet("Summary"), outline(self._comparison))

    def sheet(self, one: CompareSheet) -> None:
        """A sheet of one table."""
        sheet = self._book.add_worksheet(one.name)
        # Beside an index rows are numbered behind it, so that the first column is what that tool's is.
        at_order = int(one.columns[0].heading == "Index")
        order = CompareColumn(_ORDER, lambda _: None, "", "0")
        columns = (*one.columns[:at_order], order, *one.columns[at_order:])
        for i, column in enumerate(columns):
            sheet.set_column(i, i, 9 if column is order else 14 if column.form else _WIDE)
        sides = {
            "base": ("Base Profiling", self._comparison.base),
            "new": ("Comparison Profiling", self._comparison.new),
        }
        for side, (title, facts) in sides.items():
            at = [i for i, column in enumerate(columns) if column.side == side]
            words = fitting(f"{title}: {facts.source}, rank {facts.rank}")
            sheet.merge_range(0, at[0], 0, at[-1], words, self._heads[side])
        sheet.write_string(1, 0, told(_ABOUT.get(one.table, said("means per step"))))
        for i, column in enumerate(columns):
            sheet.write_string(_HEAD, i, column.heading, self._heads[column.side])
        tables = self._comparison.tables
        records = one.rows(tables) if one.rows is not None else tables[one.table].records()
        kept = records[: MAX_ROWS - _HEAD - 2]
        for position, record in enumerate(kept, start=1):
            sheet.write_number(_HEAD + position, at_order, position)
            for i, column in enumerate(columns):
                if column is not order:
                    self._cell(sheet, _HEAD + position, i, column.value(record), column.form, column.lines)
        sheet.freeze_panes(_HEAD + 1, 2)
        sheet.autofilter(_HEAD, 0, _HEAD + max(1, len(kept)), len(columns) - 1)
        for i, column in enumerate(columns):
            if column.heading.endswith("Ratio") and column.side == "diff":
                rule = {"type": "cell", "criteria": ">", "value": 1, "format": self._worse}
                sheet.conditional_format(_HEAD + 1, i, _HEAD + len(kept), i, rule)

    def _cell(self, sheet: Any, row: int, i: int, value: Any, form: str, lines: bool) -> None:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return
        if value == NEW and form:
            sheet.write_string(row, i, value, self._new)
        elif form:
            if form not in self._numbers:
                self._numbers[form] = self._book.add_format({"num_format": form})
            sheet.write_number(row, i, value, self._numbers[form])
        else:
            written = fitting(str(value), lines)
            sheet.write_string(row, i, written, self._texts["\n" in written, written.startswith(_FORMULA)])
