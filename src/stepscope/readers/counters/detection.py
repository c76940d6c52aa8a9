"""Recognise the table of a kernel profiler by its header."""

from __future__ import annotations

import csv
import io
from typing import Final

from stepscope.readers.counters import msprof_op, ncu, rocprof

#: Lines of the profiled program that may stand before the table.
_BEFORE: Final = 2000
_WORDS: Final = ("Kernel Name", "Kernel_Name", "KernelName", "Op Name", "block_id")


def tool_of(head: bytes) -> str:
    """The tool that wrote a table which starts with these bytes; empty for none."""
    if not any(word.encode() in head for word in _WORDS):
        return ""
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    for number, line in enumerate(text.splitlines()):
        if number > _BEFORE:
            break
        if any(word in line for word in _WORDS):
            cells = cells_of(line)
            tools = (
                (ncu.is_header, ncu.TOOL),
                (rocprof.is_header, rocprof.TOOL),
                (msprof_op.is_header, msprof_op.TOOL),
            )
            found = next((name for is_header, name in tools if is_header(cells)), "")
            if found:
                return found
    return ""


def cells_of(line: str) -> list[str]:
    """Cells of a line of CSV."""
    try:
        return [cell.strip() for cell in next(csv.reader(io.StringIO(line)), [])]
    except csv.Error:
        return []
