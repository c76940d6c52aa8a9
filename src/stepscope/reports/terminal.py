"""The report in a terminal: health first, then where the time went and why."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from stepscope.language import said, told
from stepscope.reports.blocks import PARTS, Bars, Block, Grid, Item, Line, Outline, Section
from stepscope.reports.contents import Contents
from stepscope.reports.lines.grid import grid_lines
from stepscope.reports.lines.item import item_lines
from stepscope.reports.lines.wrapping import wrapped
from stepscope.reports.outline import outline
from stepscope.reports.text import cut
from stepscope.reports.units import duration, percent

_TONES: Final = {"error": "bold red", "warning": "yellow", "info": "dim", "good": "green", "plain": ""}
_MARKS: Final = {"error": "✗", "warning": "▲", "info": "·", "good": "✓", "plain": "·"}
_ASCII_MARKS: Final = {"error": "E", "warning": "W", "info": "-", "good": "-", "plain": "-"}
#: Glyphs of the parts of a budget: they differ without colour too. Then the same where only ASCII can be shown.
_GLYPHS: Final = ("█", "▓", "▒", "·")
_ASCII_GLYPHS: Final = ("#", "=", "-", ".")
#: Parts of a budget where there is little room.
_SHORT: Final = {
    "compute": said("compute"), "exposed_comm": said("comm"), "exposed_copy": said("copy"), "idle": said("idle"),
}  # fmt: skip
_COLOURS: Final = ("green", "magenta", "yellow", "red")
_WIDEST: Final = 200
#: A terminal that reports a smaller width does not know it.
_NARROWEST: Final = 20
#: Width where none is known, as in a pipe.
_PIPED: Final = 100
_LABEL: Final = 34


def renderable(report: Contents, top: int = 10) -> RenderableType:
    """The report as something that a Rich console prints."""
    return Page(outline(report, top))


def write(report: Contents, file: IO[str], *, top: int = 10, width: int | None = None) -> None:
    """Print the report to a file: in colour if it is a terminal, as plain text if not."""
    write_page(outline(report, top), file, width=width)


def write_page(page: Outline, file: IO[str], *, width: int | None = None) -> None:
    """Print a page to a file: in colour if it is a terminal, as plain text if not."""
    console = Console(
        file=file, width=width, highlight=False, emoji=False, markup=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )  # fmt: skip
    if width is None and (console.width < _NARROWEST or not (console.is_terminal or "COLUMNS" in os.environ)):
        console.width = _PIPED
    console.print(Page(page))


class Page:
    """An outline that Rich can print."""

    def __init__(self, page: Outline) -> None:
        self._page = page.told()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, _WIDEST)
        ascii_only = options.ascii_only
        yield _wrapped(Text(self._page.title, style="bold"), width)
        yield _wrapped(Text(" · ".join(self._page.facts), style="dim"), width)
        for section in self._page.sections:
            yield Text("")
            yield _rule(section, width, ascii_only)
            for position, block in enumerate(section.blocks):
                if position and isinstance(block, (Grid, Item)):  # tables need air
                    yield Text("")
                yield from _block(block, width, ascii_only)


def _rule(section: Section, width: int, ascii_only: bool) -> Text:
    aside = cut(section.aside, max(0, width - cell_len(section.title) - 6))
    fill = width - cell_len(section.title) - cell_len(aside) - (2 if aside else 1)
    text = Text(section.title, style="bold cyan")
    text.append(" " + ("-" if ascii_only else "─") * max(1, fill) + (" " if aside else ""), style="dim cyan")
    text.append(aside, style="default not bold")
    return text


def _block(block: Block, width: int, ascii_only: bool) -> Sequence[Text]:
    if isinstance(block, Grid):
        return grid_lines(block, width, ascii_only)
    if isinstance(block, Bars):
        return _bars(block, width, ascii_only)
    if isinstance(block, Item):
        return item_lines(block, width, ascii_only)
    return _remark(block, width, ascii_only)


def _remark(remark: Line, width: int, ascii_only: bool) -> list[Text]:
    """The remark, followed by its consequence in dim, indented where it needs a line of its own."""
    mark = (_ASCII_MARKS if ascii_only else _MARKS)[remark.tone]
    text = Text(f" {mark} ", style=_TONES[remark.tone])
    text.append(remark.text, style="" if remark.tone == "info" else _TONES[remark.tone])
    if remark.detail:
        text.append(" " + ("->" if ascii_only else "→") + " " + remark.detail, style="dim")
    lines = wrapped(text, width - 3)
    for line in lines[1:]:
        line.pad_left(3)
    return lines


def _bars(block: Bars, width: int, ascii_only: bool) -> list[Text]:
    """A stacked bar per row, all to one scale, with the share of each part."""
    glyphs = _ASCII_GLYPHS if ascii_only else _GLYPHS
    used = [i for i, _ in enumerate(PARTS) if any(row.parts[i] for row in block.rows)]
    label = min(_LABEL, max(cell_len(row.label) for row in block.rows))
    shown = used if width - label - 14 - 8 * len(used) >= 8 else []
    names = [told(_SHORT[PARTS[i][0]]) for i in shown]
    room = max(8, width - label - 14 - 8 * len(shown))
    longest = max(row.total for row in block.rows) or 1
    head = Text(" " * (label + 14 + room), style="dim")
    head.append("".join(" " * (8 - cell_len(name)) + name for name in names))
    lines = [head] if shown else []
    for row in block.rows:
        text = Text(f" {set_cell_size(cut(row.label, label), label)}", style="bold" if row.mean else "")
        text.append(f" {duration(row.total):>10}  ", style="bold")
        cells = _cells(row.parts, row.total, max(1, round(room * row.total / longest)))
        for i, number in enumerate(cells):
            text.append(glyphs[i] * number, style=_COLOURS[i])
        text.append(" " * (room - sum(cells)))
        for i in shown:
            share = percent(row.parts[i] / row.total if row.total else 0.0)
            text.append(f"{share:>8}", style=_COLOURS[i] if row.parts[i] else "dim")
        text.rstrip()
        lines.append(text)
    return [*lines, _legend(used, glyphs, label + 14, width)]


def _legend(used: Sequence[int], glyphs: Sequence[str], indent: int, width: int) -> Text:
    """What the glyphs stand for, below the bars where there is room."""
    names = [told(PARTS[i][1]) for i in used]
    if sum(map(cell_len, names)) + 5 * len(names) > width:
        names = [told(_SHORT[PARTS[i][0]]) for i in used]
    words = sum(map(cell_len, names)) + 5 * len(names) - 3
    legend = Text(" " * min(indent, max(1, width - words)), style="dim")
    for i, name in zip(used, names, strict=True):
        legend.append(glyphs[i], style=_COLOURS[i])
        legend.append(f" {name}   ", style="dim")
    legend.rstrip()
    return legend


def _cells(parts: Sequence[int], total: int, room: int) -> list[int]:
    """Cells of a bar for each part; the rounding remainder goes to the part furthest below its share."""
    if total <= 0:
        return [0] * len(parts)
    cells = [room * part // total for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda i: -(room * parts[i] % total))
    for i in by_remainder[: max(0, room - sum(cells))]:
        cells[i] += 1
    return cells


def _wrapped(text: Text, width: int) -> Group:
    return Group(*wrapped(text, width))
