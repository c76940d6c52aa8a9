"""The first sheet of a workbook: what was recorded, the figures, what is wrong, where the time went, and the way on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stepscope.language import said, told
from stepscope.model.amounts import duration, percent
from stepscope.reports.blocks import PARTS, Bars, Outline
from stepscope.reports.contents import Contents
from stepscope.reports.text import visible

#: Bars that a chart can hold and be read.
_MOST_BARS: Final = 24
_MS: Final = 1e6
_COLOURS: Final = ("#3b7dd8", "#e0703c", "#c9a227", "#b9bec5")
#: Widths of the columns: what, then figures.
_WIDTHS: Final = (44, 16, 16, 16, 16, 16)


def write(
    book: Any, sheet: Any, report: Contents, page: Outline, links: Mapping[str, str], empty: Sequence[str]
) -> None:
    """Fill the first sheet, from its top to its end.

    Args:
        book: The workbook.
        sheet: Its first sheet.
        report: What the workbook is of.
        page: The same as a page.
        links: Name of the sheet of each table.
        empty: Tables without rows, which have none.
    """
    page, front = page.told(), _Front(book, sheet)
    front.line(page.title, front.title)
    for fact in page.facts:
        front.line(fact)
    if page.figures:
        front.heading(said("Figures"))
        for figure in page.figures:
            front.row(figure.label, figure.value, figure.detail)
    if report.findings:
        front.heading(said("Findings"), said("saved per step"), said("of the step"))
        for finding in report.findings:
            cost = "" if finding.cost_ns is None else duration(finding.cost_ns)
            gain = finding.gain_ceiling
            front.row(
                f"{finding.code}  {told(finding.title)}", cost, "" if gain is None else percent(gain / (1 + gain))
            )
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Bars) and block.rows:
                front.budget(section.title, block)
    front.heading(said("Sheets"))
    for table, name in links.items():
        front.link(name, table)
    if empty:
        front.heading(said("Tables without rows"))
        for table in empty:
            front.line(table)


class _Front:
    """Writes the first sheet row by row."""

    def __init__(self, book: Any, sheet: Any) -> None:
        self._book = book
        self._sheet = sheet
        self._row = 0
        self.title = book.add_format({"bold": True, "font_size": 16})
        self._head = book.add_format({"bold": True, "bottom": 1})
        self._text = book.add_format({"quote_prefix": True})
        self._ms = book.add_format({"num_format": "#,##0.000"})
        self._share = book.add_format({"num_format": "0.0%"})
        self._link = book.add_format({"font_color": "#1a5fb4", "underline": 1})
        for i, width in enumerate(_WIDTHS):
            sheet.set_column(i, i, width)
        sheet.hide_gridlines(2)

    def line(self, text: str, form: Any = None) -> None:
        """A line of text."""
        self._sheet.write_string(self._row, 0, visible(told(text)), form or self._text)
        self._row += 1

    def heading(self, *texts: str) -> None:
        """A heading, after an empty line."""
        self._row += 1
        for i, text in enumerate(texts):
            self._sheet.write_string(self._row, i, told(text), self._head)
        self._row += 1

    def row(self, *texts: str) -> None:
        """Texts side by side."""
        for i, text in enumerate(texts):
            self._sheet.write_string(self._row, i, visible(told(text)), self._text)
        self._row += 1

    def link(self, name: str, table: str) -> None:
        """A link to a sheet."""
        self._sheet.write_url(self._row, 0, f"internal:'{name}'!A1", self._link, visible(table))
        self._row += 1

    def budget(self, title: str, bars: Bars) -> None:
        """The parts of the steps, and their chart."""
        self.heading(title, *(f"{told(label)} [ms]" for _, label in PARTS), "step [ms]")
        first = self._row
        for bar in bars.rows[:_MOST_BARS]:
            self._sheet.write_string(self._row, 0, visible(bar.label), self._text)
            for i, value in enumerate((*bar.parts, bar.total), start=1):
                self._sheet.write_number(self._row, i, value / _MS, self._ms)
            self._row += 1
        last = self._row - 1
        chart = self._book.add_chart({"type": "bar", "subtype": "stacked"})
        name = self._sheet.get_name()
        for i, (_, label) in enumerate(PARTS, start=1):
            chart.add_series(
                {
                    "name": told(label),
                    "categories": [name, first, 0, last, 0],
                    "values": [name, first, i, last, i],
                    "fill": {"color": _COLOURS[i - 1]},
                    "gap": 40,
                }
            )
        chart.set_title({"name": title, "name_font": {"size": 12}})
        chart.set_x_axis({"name": "ms", "major_gridlines": {"visible": True, "line": {"color": "#dddddd"}}})
        chart.set_y_axis({"reverse": True})
        chart.set_legend({"position": "bottom"})
        chart.set_size({"width": 620, "height": 160 + 22 * (last - first + 1)})
        self._sheet.insert_chart(0, len(_WIDTHS) + 1, chart)
