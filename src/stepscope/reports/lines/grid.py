"""A grid as lines of text that fit a width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from stepscope.language import listing, said, told
from stepscope.reports.blocks import Grid

#: The first column gets what is left, but never less than this; columns are left out before.
_LEAST: Final = 28
#: Where columns are left out, texts that are not in the first one have at most this part of the width, and each at
#: least so much.
_TEXTS: Final = 0.4
_SHORT: Final = 12
_BAR: Final = 12
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def grid_lines(grid: Grid, width: int, ascii_only: bool) -> list[Text]:
    """Caption and headings, then a line per row.

    Columns that don't fit are left out, the least important first.
    """
    widths = _widths(grid, width)
    kept = _fitting(grid, widths, width)
    widths[0] = min(widths[0], max(8, width - 1 - sum(widths[i] + 2 for i in kept if i)))
    lines = _head(grid, kept, widths)
    for row in grid.rows:
        text = Text(" ")
        for i in kept:
            text.append("" if i == 0 else "  ")
            text.append_text(_cell(grid, i, row[i], widths[i], ascii_only))
        text.rstrip()
        lines.append(text)
    left_out = [heading.text for i, heading in enumerate(grid.headings) if i not in kept and not heading.bar]
    if grid.whole and left_out:
        names = said(" not shown for lack of room: {columns}", columns=listing(left_out))
        lines.append(Text(told(names), style="dim"))
    if grid.hidden:
        dots = "..." if ascii_only else "…"
        if grid.whole:
            more: str = said(" {dots} {rows:,} more: --top N, or --json FILE for all", dots=dots, rows=grid.hidden)
        else:
            more = said(" {dots} {rows:,} more: --table {table}", dots=dots, rows=grid.hidden, table=grid.table)
        lines.append(Text(told(more), style="dim"))
    return lines


def _widths(grid: Grid, width: int) -> list[int]:
    """Widths that columns need; where not all fit, long texts have less, which would leave no room for a number."""
    widths = []
    for i, heading in enumerate(grid.headings):
        cells = [_BAR if heading.bar else cell_len(str(row[i])) for row in grid.rows]
        title = cell_len(heading.text) if i or not grid.caption else max(cell_len(grid.caption), cell_len(heading.text))
        widths.append(max([title, *cells]))
    if len(_fitting(grid, widths, width)) < len(widths):
        texts = [i for i, heading in enumerate(grid.headings) if i and not heading.number and not heading.bar]
        room = round(width * _TEXTS)
        for left, i in zip(range(len(texts), 0, -1), sorted(texts, key=lambda i: widths[i]), strict=True):
            widths[i] = min(widths[i], max(cell_len(grid.headings[i].text), room // left, _SHORT))
            room -= widths[i]
    return widths


def _fitting(grid: Grid, widths: Sequence[int], width: int) -> list[int]:
    kept = list(range(len(widths)))
    while len(kept) > 1:
        first = min(widths[0], _LEAST)
        if 1 + first + sum(min(widths[i], 60) + 2 for i in kept if i) <= width:
            return kept
        kept.remove(max((i for i in kept if i), key=lambda i: (grid.headings[i].rank, i)))
    return kept


def _head(grid: Grid, kept: Sequence[int], widths: Sequence[int]) -> list[Text]:
    """Headings; a caption that is wider than the first column has a line of its own."""
    text = Text(" ")
    above = cell_len(grid.caption) > widths[0]
    for i in kept:
        heading = grid.headings[i]
        title = ("" if above else grid.caption) if i == 0 and grid.caption else heading.text
        right = heading.number
        cell = " " * (widths[i] - cell_len(title)) + title if right else set_cell_size(title, widths[i])
        text.append(("" if i == 0 else "  ") + cell, style="bold" if i == 0 and grid.caption else "dim")
    text.rstrip()
    return [Text(" " + grid.caption, style="bold"), text] if above else [text]


def _cell(grid: Grid, i: int, value: str | float, width: int, ascii_only: bool) -> Text:
    heading = grid.headings[i]
    if heading.bar:
        return Text(_bar(value, ascii_only) if isinstance(value, float) else " " * _BAR, style="cyan")
    written = str(value)
    if heading.number:
        return Text(" " * (width - cell_len(written)) + written)
    if cell_len(written) > width:
        written = set_cell_size(written, width - 1).rstrip() + ("~" if ascii_only else "…")
    style = "dim" if i and not heading.number else ""
    return Text(set_cell_size(written, width), style=style)


def _bar(share: float, ascii_only: bool) -> str:
    eighths = round(min(1.0, max(0.0, share)) * _BAR * 8)
    if ascii_only:
        return ("#" * ((eighths + 4) // 8)).ljust(_BAR)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_BAR)
