"""Samples line by line: what can't be one is counted and left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from stepscope.readers.content import Damage, blocks
from stepscope.readers.protocol import Progress, Source

_BLOCK: Final = 1 << 20
#: The system of a thousand cores and a hundred disks takes a tenth of it.
_LONGEST: Final = 1 << 20
_LATEST: Final = 1 << 62


@dataclass(slots=True)
class Lines:
    """The lines of a file of samples.

    Attributes:
        head: What the first line says of the machine; empty if it can't be read.
        unreadable: Lines that are no samples.
        misplaced: Samples that are not later than the one before.
        cut: Whether the file ends within a line.
    """

    source: Source
    damage: Damage
    head: dict[str, Any]
    unreadable: int = 0
    misplaced: int = 0
    cut: bool = False

    @classmethod
    def of(cls, source: Source) -> Lines:
        """The lines of a file, none of which is read yet."""
        return cls(source, Damage(), {})

    def samples(self, progress: Progress) -> Iterator[dict[str, Any]]:
        """The samples, in time order; each has an integer `unix_ns`."""
        last = 0
        for text in self._texts(progress):
            value = _object(text)
            if value is None:
                self.unreadable += 1
            elif "samples" in value:
                self.head = self.head or value
            else:
                at = value.get("unix_ns")
                if type(at) is not int or not 0 < at < _LATEST:
                    self.unreadable += 1
                elif at <= last:
                    self.misplaced += 1
                else:
                    last = at
                    yield value

    def _texts(self, progress: Progress) -> Iterator[bytes]:
        rest, skipping = b"", False
        for block in blocks(self.source, self.damage, progress, _BLOCK):
            *whole, rest = (rest + block).split(b"\n")
            for text in whole:
                if skipping or len(text) > _LONGEST:
                    self.unreadable += 1
                elif text.strip():
                    yield text
                skipping = False
            if len(rest) > _LONGEST:
                rest, skipping = b"", True
        self.cut = skipping or bool(rest.strip())


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
