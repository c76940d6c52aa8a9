"""Recognise samples of the machine; the reading code is imported only for them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepscope.model.recording import Recording
from stepscope.readers.machine.inputs import NAME
from stepscope.readers.protocol import NO, YES, Progress, Source
from stepscope.store.staging import Staging

_MARK: Final = b'{"samples":"stepscope.machine/'


class MachineReader:
    """Reader of `*.machine.jsonl`, which `stepscope record` writes."""

    name = NAME
    version = 1

    def sniff(self, path: Path, head: bytes) -> int:
        """NO or YES, by content alone."""
        del path
        return YES if head.startswith(_MARK) else NO

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Stage every sample, and the kinds of storage."""
        from stepscope.readers.machine.read import read

        return read(source, staging, progress)
