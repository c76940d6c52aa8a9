"""Recognise memory snapshots; the reading code is imported only for one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stepscope.model.recording import Recording
from stepscope.readers.memsnapshot.inputs import NAME
from stepscope.readers.protocol import MAYBE, NO, YES, Progress, Source
from stepscope.store.staging import Staging

_MARKS: Final = (b"total_size", b"device_traces", b"requested_size")
#: [[time, action, bytes, category], ... or [[times], [[sizes], ...
_TIMELINE: Final = re.compile(rb"\s*\[\s*\[\s*-?\d+(?:\.\d+)?\s*,\s*-?\d+")


class MemorySnapshotReader:
    """Reader of files written by `torch.cuda.memory._dump_snapshot`, `export_memory_timeline` and the like."""

    name = NAME
    version = 2

    def sniff(self, path: Path, head: bytes) -> int:
        """NO, MAYBE or YES, by content alone."""
        del path
        if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
            return YES if _is_marked(head) else MAYBE
        text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if not text.startswith((b"{", b"[")) or b'"ph"' in text:
            return NO
        if _TIMELINE.match(text):
            return YES
        return YES if _is_marked(text) and (b'"blocks"' in text or b'"device_traces"' in text) else NO

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Stage segments, blocks, the history of every device, and the allocations reconstructed from them."""
        from stepscope.readers.memsnapshot.read import read

        return read(source, staging, progress)


def _is_marked(head: bytes) -> bool:
    return any(mark in head for mark in _MARKS)
