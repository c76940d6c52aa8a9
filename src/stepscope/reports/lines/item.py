"""A finding in a terminal: title and price on a line, then what was seen, then what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from stepscope.language import listing, said, told
from stepscope.reports.blocks import Item, Remedy
from stepscope.reports.lines.code import code_lines, command_lines
from stepscope.reports.lines.wrapping import wrapped
from stepscope.reports.text import cut

_STYLES: Final = {"error": "bold red", "warning": "bold yellow", "info": "bold", "plain": "bold cyan"}
#: Remedies shown; the others are a command away.
_REMEDIES: Final = 2
_INDENT: Final = 4
#: Characters of a title that must be seen on the line of the price.
_TITLE: Final = 24


def item_lines(item: Item, width: int, ascii_only: bool) -> list[Text]:
    """The lines of a finding, at most `width` wide."""
    lines = _headline(item, width)
    lines += _wrapped(Text(item.text), width, _INDENT)
    for number, remedy in enumerate(item.remedies[:_REMEDIES]):
        lines += _remedy(remedy, width, ascii_only, with_code=number == 0)
    if item.inspect:
        lines += _command(item.inspect, width)
    if item.also:
        also = told(said("also explains: {findings}", findings=listing(item.also, "; ")))
        lines += _wrapped(Text(also, style="dim"), width, _INDENT)
    pages = dict.fromkeys(remedy.page for remedy in item.remedies[:_REMEDIES] if remedy.page)
    more = " · ".join(f"stepscope rules {name}" for name in (item.code, *pages))
    return [*lines, *_wrapped(Text(more, style="dim"), width, _INDENT)]


def _headline(item: Item, width: int) -> list[Text]:
    """Number, title, code and price; the latter two on a line of their own where there is little room."""
    room = width - _INDENT - cell_len(item.worth) - len(item.code) - 4
    below = room < min(cell_len(item.title), _TITLE)
    title = cut(item.title, width - _INDENT if below else room)
    text = Text(f"{item.number:>2}  ", style="dim")
    text.append(title, style=_STYLES[item.tone])
    rest = Text(item.code, style="dim")
    rest.append("  ")
    rest.append(item.worth, style="bold")
    if below:
        return [text, *_wrapped(rest, width, _INDENT)]
    text.append(" " * (room - cell_len(title) + 2))
    text.append_text(rest)
    return [text]


def _remedy(remedy: Remedy, width: int, ascii_only: bool, *, with_code: bool) -> Iterator[Text]:
    text = Text("-> " if ascii_only else "→ ", style="green")
    text.append(remedy.text, style="default")
    yield from _wrapped(text, width, _INDENT)
    if with_code:
        for sign, style, code in (("-", "red", remedy.before), ("+", "green", remedy.after)):
            for line in code:
                for short in code_lines(line, width - _INDENT - 4):
                    yield Text(" " * (_INDENT + 2) + f"{sign} {short}", style=style)


def _command(command: str, width: int) -> Iterator[Text]:
    """A command to be copied; below what it is for where it takes more than that line."""
    label = Text(" " * _INDENT + told(said("look inside: ")), style="dim")
    if label.cell_len + cell_len(command) <= width:
        yield label.append(command, style="not dim")
        return
    label.rstrip()
    yield label
    for line in command_lines(command, width - _INDENT - 2):
        # What is longer than a line is left to the terminal, which doesn't put an end of line into it.
        yield Text(" " * (_INDENT + 2) + line, no_wrap=True, overflow="ignore")


def _wrapped(text: Text, width: int, indent: int) -> list[Text]:
    lines = wrapped(text, max(20, width - indent))
    for line in lines:
        line.pad_left(indent)
    return lines
