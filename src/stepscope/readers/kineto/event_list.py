"""Find the list of events in a recording, and cut its text between events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from stepscope.model.sizes import SIZES
from stepscope.native.scanning import Scanner
from stepscope.readers.content import ReadInto

#: Most text before the events, kept for its metadata.
HEADER_LIMIT: Final = 64 << 20
#: Bytes behind the last event, as a rule, and an empty object there.
_END: Final = 64
_EMPTY: Final = re.compile(rb",\s*\{\s*\}\s*\]\s*\}?\s*$")
_EVENTS_KEY: Final = re.compile(rb'"traceEvents"\s*:\s*\[')


class Part(NamedTuple):
    """Text in the memory of a scanner.

    Attributes:
        scanner: The scanner.
        size: Bytes of text.
        closed: Whether an event begins behind it, if the bytes look as they do between two events.
        ended: Whether nothing is behind it.
    """

    scanner: Scanner
    size: int
    closed: bool
    ended: bool

    @property
    def ends_empty(self) -> bool:
        """Whether the list ends with an empty object, as some profilers write it to need no thought about commas."""
        end = bytes(self.scanner.room(self.size)[max(0, self.size - _END) : self.size]) if self.ended else b""
        return _EMPTY.search(end) is not None


class EventList:
    """The text of the events of one recording.

    Attributes:
        header: Text before the first event; a bare list has none.
        bare: Whether the events are a bare list, or loose objects without one.
        found: Whether a list of events was found, even an empty one.
        late: Whether it was not looked for any further.
    """

    def __init__(self, read: ReadInto, block_bytes: int) -> None:
        self._read = read
        self._block_bytes = block_bytes
        self.header = b""
        self.bare = self.found = self.late = False

    def parts(self, scanners: Iterator[Scanner], part_bytes: int) -> Iterator[Part]:
        """The text in parts of about `part_bytes`, each in the memory of the next scanner.

        A part ends where an event seems to begin, if there is such a place: in a string or in an argument the same
        bytes may stand.
        """
        rest = self._find()
        for scanner in scanners:
            size = 0
            while True:
                memory = scanner.room(len(rest) + max(part_bytes, self._block_bytes))
                memory[: len(rest)] = np.frombuffer(rest, np.uint8)
                size, ended = self._fill(memory.data, len(rest), len(rest) + part_bytes)
                cut = 0 if ended else scanner.last_start(size)
                if ended or cut or size > SIZES.event_bytes:
                    break
                rest = bytes(memory[:size])
            # What is scanned may change what stands behind it.
            rest = bytes(memory[cut:size]) if cut else b""
            if size:
                yield Part(scanner, cut or size, closed=cut > 0, ended=ended)
            if ended:
                return

    def _fill(self, memory: memoryview, size: int, wanted: int) -> tuple[int, bool]:
        """Read blocks behind the first `size` bytes; returns what there is then, and whether that is all."""
        while size < wanted:
            count = self._read(memory[size : size + min(self._block_bytes, len(memory) - size)])
            if not count:
                return size, True
            size += count
        return size, False

    def _find(self) -> bytes:
        """Read up to the first event; returns the text read from there on."""
        head = bytearray()
        block = memoryview(bytearray(self._block_bytes))
        while size := self._read(block):
            head += block[:size]
            text = bytes(head).lstrip(b"\xef\xbb\xbf \t\r\n")
            if text.startswith(b"["):
                self.bare = self.found = True
                return text[1:]
            match = _EVENTS_KEY.search(head)
            if match:
                self.found = True
                self.header = bytes(head[: match.end()])
                return bytes(head[match.end() :])
            if len(head) > HEADER_LIMIT:
                self.late = True
                break
        self.bare = True
        self.found = b'"ph"' in head
        return bytes(head) if self.found else b""
