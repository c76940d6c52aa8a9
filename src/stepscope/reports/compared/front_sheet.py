"""The first sheet of a workbook: a page's lines and tables, as text."""

from __future__ import annotations

from typing import Any, Final

from stepscope.reports.blocks import Grid, Item, Line, Outline
from stepscope.reports.xlsx import fitting

_FORMULA: Final = ("=", "+", "-", "@")
_WIDTHS: Final = (46, 14)


def write_page(book: Any, sheet: Any, page: Outline) -> None:
    """Write a page to an empty sheet of a workbook."""
    bold = book.add_format({"bold": True})
    texts = {quoted: book.add_format({"quote_prefix": quoted}) for quoted in (False, True)}
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
                    written = fitting(cell)
                    sheet.write_string(row, i, written, texts[written.startswith(_FORMULA)])
                row += 1


def _lines(block: object) -> list[tuple[str, ...]]:
    if isinstance(block, Line):
        return [(block.text, block.detail)]
    if isinstance(block, Item):
        return [(block.title, block.worth)]
    if isinstance(block, Grid):
        heads = tuple(heading.text for heading in block.headings)
        return [heads, *(tuple(map(str, row)) for row in block.rows)]
    return []
