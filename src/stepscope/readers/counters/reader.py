"""Recognise results of kernel profilers; the reading code is imported only for them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Final

from stepscope.model.recording import Recording
from stepscope.readers.counters import msprof_op, ncu, rocprof
from stepscope.readers.counters.inputs import NAME
from stepscope.readers.protocol import MAYBE, NO, YES, Progress, Source
from stepscope.store.staging import Staging

#: Lines of the profiled program that may stand before the table.
_BEFORE: Final = 2000
_WORDS: Final = ("Kernel Name", "Kernel_Name", "KernelName", "Op Name", "block_id")


class KernelCountersReader:
    """Reads `ncu --csv`, a folder or file of `msprof op`, and `pmc_perf.csv` of rocprof-compute."""

    name = NAME
    version = 1

    def sniff(self, path: Path, head: bytes) -> int:
        """Recognise by the header of the table; a folder by the file that describes the kernel of `msprof op`."""
        if not head:
            return YES if path.is_dir() and (path / f"{msprof_op.BASIC}.csv").is_file() else NO
        if tool_of(head):
            return YES
        # The program's own output stands before the table, which may be beyond the bytes at hand.
        return MAYBE if b"==PROF== " in head else NO

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Stage the profiled launches and their counters.

        Raises:
            UnusableInputError: There is none.
        """
        from stepscope.readers.counters.read import read

        return read(source, staging, progress)


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
