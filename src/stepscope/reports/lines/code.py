"""Lines of code, and commands, that are longer than a terminal is wide."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len

from stepscope.reports.text import cut

_CLOSING: Final = {")": "(", "]": "[", "}": "{"}
#: Cells that a line below an open bracket has at least; else it is indented by four.
_LEAST: Final = 24
_INDENT: Final = 4
#: Words as a shell reads them, and what makes it read on in the next line.
_WORD: Final = re.compile(r"(?:'[^']*'|\S)+")
_ON: Final = " \\"


def code_lines(line: str, width: int) -> list[str]:
    """The line in lines of at most `width` cells that mean the same: it goes on below an open bracket, after a comma.

    What can't be divided so is cut.
    """
    found, opened = [], list[int]()
    while cell_len(line) > width and (place := _place(line, width, opened)) is not None:
        at, opened = place
        found.append(line[:at])
        line = " " * (opened[-1] + 1) + line[at:].lstrip()
    return [*found, cut(line, width)]


def _place(line: str, width: int, outer: list[int]) -> tuple[int, list[int]] | None:
    """Where the line can be divided last, and what is open there: each bracket's column. None if nowhere.

    Args:
        line: The line.
        width: Cells that there are.
        outer: What is open before it.
    """
    indent = len(line) - len(line.lstrip())
    opened, place, quote = list(outer), None, ""
    for at, character in enumerate(line):
        if cell_len(line[: at + 1]) > width:
            break
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#":
            break
        elif character in _CLOSING.values():
            opened.append(at)
        elif character in _CLOSING and opened:
            opened.pop()
        elif character == "," and opened and line[at + 1 : at + 2] == " ":
            column = opened[-1] if width - opened[-1] > _LEAST else indent + _INDENT - 1
            place = (at + 1, [*opened[:-1], column])
    return place


def command_lines(command: str, width: int) -> list[str]:
    """The command in lines of at most `width` cells that a shell reads as one; a longer word is not divided."""
    lines, line, words = [], "", _WORD.findall(command)
    for number, word in enumerate(words, start=1):
        longer = f"{line} {word}" if line else word
        room = width - (0 if number == len(words) else len(_ON))
        if line and cell_len(longer) > room:
            lines.append(line + _ON)
            longer = word
        line = longer
    return [*lines, line]
