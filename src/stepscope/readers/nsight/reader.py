"""The reader of Nsight Systems exports; the reading code is imported only for one."""

from __future__ import annotations

from pathlib import Path

from stepscope.model.recording import Recording
from stepscope.readers.nsight.detection import REPORTS, folder_is_export, has_export_beside, looks_like_export
from stepscope.readers.nsight.inputs import NAME
from stepscope.readers.protocol import MAYBE, NO, YES, Progress, Source
from stepscope.store.staging import Staging


class NsightReader:
    """Reader of `.sqlite` exports, Parquet and Arrow export folders and, through `nsys`, reports."""

    name = NAME
    version = 3

    def sniff(self, path: Path, head: bytes) -> int:
        """NO, MAYBE or YES: by the tables; a report, whose format is unknown, by its name."""
        if path.is_dir():
            return YES if folder_is_export(path) else NO
        if path.suffix in REPORTS:
            return MAYBE if has_export_beside(path) else YES
        return {True: YES, None: MAYBE, False: NO}[looks_like_export(path, head)]

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Stage every row that can be read."""
        from stepscope.readers.nsight.read import read

        return read(source, staging, progress)
