"""Recognise Kineto traces; the reading code is imported only for one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepscope.model.recording import Recording
from stepscope.readers.content import BLOCK_BYTES, CHUNK_BYTES
from stepscope.readers.kineto.inputs import NAME
from stepscope.readers.protocol import MAYBE, NO, YES, Progress, Source
from stepscope.store.staging import Staging

_MARKS: Final = (b'"traceEvents"', b'"schemaVersion"', b'"deviceProperties"', b'"distributedInfo"')


@dataclass(frozen=True, slots=True)
class KinetoReader:
    """Reader of torch.profiler's traces (`.json`, `.json.gz` and the like), and of other Chrome traces.

    Attributes:
        block_bytes: Bytes framed at a time; they should fit the CPU's cache.
        chunk_bytes: Bytes decoded at a time.
    """

    name: str = NAME
    version: int = 1
    block_bytes: int = BLOCK_BYTES
    chunk_bytes: int = CHUNK_BYTES

    def sniff(self, path: Path, head: bytes) -> int:
        """NO, MAYBE or YES, by content alone."""
        del path
        text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if not text.startswith((b"{", b"[")):
            return NO
        if any(mark in text for mark in _MARKS) or b'"ph"' in text:
            return YES
        return MAYBE

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Stage every event that can be read."""
        from stepscope.readers.kineto.read import read

        return read(source, staging, progress, self.block_bytes, self.chunk_bytes)
