"""Recognise an XSpace; the reading code is imported only for one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepscope.model.recording import Recording
from stepscope.readers.protocol import NO, YES, Progress, Source
from stepscope.readers.xplane.inputs import NAME
from stepscope.readers.xplane.wire import BYTES, VARINT, BrokenError, fields
from stepscope.store.staging import Staging

#: Names of planes.
_PLANE: Final = re.compile(rb"/(host|device):[\w.:/ -]+|Task Environment|#Chip[\w.:# -]*")


@dataclass(frozen=True, slots=True)
class XplaneReader:
    """Reader of what the profilers of JAX and TensorFlow write (`*.xplane.pb`)."""

    name: str = NAME
    version: int = 1

    def sniff(self, path: Path, head: bytes) -> int:
        """NO or YES, by content alone: its first field is a plane, which begins with a number and a name."""
        del path
        try:
            number, kind, start, end = next(fields(head, 0, len(head), may_be_cut=1), (0, 0, 0, 0))
            if (number, kind) != (1, BYTES):
                return NO
            for number, kind, value, stop in fields(head, start, end):
                if (number, kind) == (2, BYTES):
                    return YES if _PLANE.fullmatch(head[value:stop]) else NO
                if (number, kind) != (1, VARINT):
                    return NO
        except BrokenError:
            return NO
        return NO

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Stage every event that can be read."""
        from stepscope.readers.xplane.read import read

        return read(source, staging, progress)
