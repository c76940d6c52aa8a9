"""Recognise results of kernel profilers; the reading code is imported only for them."""

from __future__ import annotations

from pathlib import Path

from stepscope.model.recording import Recording
from stepscope.readers.counters import msprof_op
from stepscope.readers.counters.detection import tool_of
from stepscope.readers.counters.inputs import NAME
from stepscope.readers.protocol import MAYBE, NO, YES, Progress, Source
from stepscope.store.staging import Staging


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
