"""Text in two columns, as help has it, wrapped by cells of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from stepscope.reports.lines.wrapping import wrapped

#: What stands before the second column: words, then at least two spaces; else the indent.
_FIRST: Final = re.compile(r"^(\s+\S.*?\s{2,}|\s*)")
#: No second column begins further right.
_FURTHEST: Final = 34


def columns(text: str, width: int) -> Iterator[str]:
    """The lines, none wider than `width` cells; what continues a line stands below its second column."""
    for line in text.splitlines():
        first = _FIRST.match(line)
        head = first.group() if first and cell_len(first.group()) <= _FURTHEST else ""
        indent = cell_len(head)
        lines = wrapped(Text(line[len(head) :]), max(20, width - indent)) or [Text("")]
        yield (head + lines[0].plain).rstrip()
        yield from (" " * indent + one.plain for one in lines[1:])
