"""Text wrapped by cells of a terminal: characters of Chinese take two, and a line may end between any two of them."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

#: What a line does not start with, and what it does not end with.
_NO_START: Final = "，。、；：！？）》」』】”’…%)]},.;:!?"
_NO_END: Final = "（《「『【“‘([{"
#: Characters of two cells that a line may end between: CJK and its punctuation.
_WIDE: Final = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60"
_IS_WIDE: Final = re.compile(f"[{_WIDE}]")
#: Between two of these a line may end; spaces belong to what stands before them.
_UNIT: Final = re.compile(f"[{re.escape(_NO_END)}]*(?:[{_WIDE}]|[^\\s{_WIDE}]+)[{re.escape(_NO_START)}]*\\s*|\\s+")
#: Rich asks for a console to wrap text, and takes nothing from it but the handling of tabs.
_WRAPPER: Final = Console(width=80)


def wrapped(text: Text, width: int) -> list[Text]:
    """Lines of at most `width` cells, without spaces at their ends."""
    lines = list(text.wrap(_WRAPPER, width)) if not _IS_WIDE.search(text.plain) else _wide(text, width)
    for line in lines:
        line.rstrip()
    return lines


def _wide(text: Text, width: int) -> list[Text]:
    lines: list[Text] = []
    for part in text.split("\n"):
        offsets, used = [], 0
        for unit in _UNIT.finditer(part.plain):
            size = cell_len(unit.group().rstrip())
            if used and used + size > width:
                offsets.append(unit.start())
                used = 0
            used += cell_len(unit.group())
        # A word that is longer than a line is cut by Rich.
        lines += [short for line in part.divide(offsets) for short in _short(line, width)]
    return lines


def _short(line: Text, width: int) -> list[Text]:
    line.rstrip()
    return [line] if line.cell_len <= width else list(line.wrap(_WRAPPER, width))
