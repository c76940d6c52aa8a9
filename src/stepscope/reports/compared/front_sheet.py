"""The first sheet of a workbook: a page's lines and tables, as text."""

from __future__ import annotations

import re
from typing import Any, Final

from stepscope.reports.blocks import Grid, Item, Line, Outline
from stepscope.reports.xlsx import fitting

_FORMULA: Final = ("=", "+", "-", "@")
_WIDTHS: Final = (46, 14)
_NUMBER: Final = re.compile(r"(?P<number>(?P<sign>[+-])?[\d,]+(?:\.(?P<places>\d+))?)(?P<percent> %)?")
#: Formats by whether it is percent, has a sign, and has decimals.
_FORMS: Final = {
    (percent, sign, places): f"+{form};-{form};{form}" if sign else form
    for percent in (False, True)
    for sign in (False, True)
    for places in (False, True)
    for form in (("0.0 %" if places else "0 %") if percent else "#,##0.00" if places else "#,##0",)
}


def write_page(book: Any, sheet: Any, page: Outline) -> None:
    """Write a page to an empty sheet of a workbook, in the language that is spoken."""
    page = page.told()
    bold = book.add_format({"bold": True})
    texts = {quoted: book.add_format({"quote_prefix": quoted}) for quoted in (False, True)}
    forms = {form: book.add_format({"num_format": form}) for form in _FORMS.values()}
    sheet.set_column(0, 0, _WIDTHS[0])
    sheet.set_column(1, 7, _WIDTHS[1])
    row = 0
    for text in (page.title, *page.facts):
        sheet.write_string(row, 0, fitting(text), bold)
        row += 1
    for section in page.sections:
        row += 1
        sheet.write_string(row, 0, section.title, bold)
        sheet.write_string(row, 1, section.aside)
        row += 1
        for block in section.blocks:
            for cells in _lines(block):
                for i, cell in enumerate(cells):
                    number = _number(cell) if i and isinstance(block, Grid) else None
                    if number is None:
                        written = fitting(cell)
                        sheet.write_string(row, i, written, texts[written.startswith(_FORMULA)])
                    else:
                        sheet.write_number(row, i, number[0], forms[number[1]])
                row += 1


def _number(cell: str) -> tuple[float, str] | None:
    """The number that a cell shows, with its format; None if it is text, or a number with a unit other than percent."""
    found = _NUMBER.fullmatch(cell.strip())
    if found is None:
        return None
    places = len(found["places"] or "")
    value = float(found["number"].replace(",", ""))
    percent = bool(found["percent"])
    form = _FORMS[percent, bool(found["sign"]), bool(places)]
    return (round(value / 100, 6), form) if percent else (value, form)


def _lines(block: object) -> list[tuple[str, ...]]:
    if isinstance(block, Line):
        return [(block.text, block.detail)]
    if isinstance(block, Item):
        return [(block.title, block.worth)]
    if isinstance(block, Grid):
        heads = tuple(heading.text for heading in block.headings)
        return [heads, *(tuple(map(str, row)) for row in block.rows)]
    return []
