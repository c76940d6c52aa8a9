"""The events of a recording as rows, in order: text is scanned on as many lanes as there are cores."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import numpy as np

from stepscope.model.sizes import SIZES
from stepscope.native.instance import NativeError
from stepscope.native.scanning import Rows, ScanLayout, Scanner
from stepscope.readers.content import BLOCK_BYTES, CHUNK_BYTES, ReadInto
from stepscope.readers.kineto.checking import EventCheck
from stepscope.readers.kineto.event_list import EventList, Part
from stepscope.readers.kineto.mending import Chunk, Mender

#: Bytes of a part that may be read in vain while looking for the ends of broken events.
_PATIENCE: Final = 16 << 20
_SEPARATORS: Final = b" \t\r\n,"
#: Last bytes of a dropped event in which the end of the event list is searched.
_TRAILER: Final = 1 << 20
_LIST_END: Final = re.compile(rb"\}(?=[\s,]*\])")
_NEXT_START: Final = re.compile(rb"\}[\s,]*(?=\{)")


class EventRows:
    """Reads the events of one recording.

    Attributes:
        list: The text of the events.
        mender: Repairs what does not parse.
        lost: Number of events dropped for being longer than `SIZES.event_bytes`.
        others: Number of objects that are no events.

    Args:
        read: Reads the recording.
        layout: What is read of each event; its first member is the phase.
        block_bytes: Bytes read at a time.
        part_bytes: Bytes scanned at a time.
    """

    def __init__(
        self, read: ReadInto, layout: ScanLayout, block_bytes: int = BLOCK_BYTES, part_bytes: int = CHUNK_BYTES
    ) -> None:
        self.list = EventList(read, block_bytes)
        self.mender = Mender(EventCheck(layout.members[0]))
        self.lost = self.others = 0
        self._layout = layout
        self._part_bytes = part_bytes
        self._again: Scanner | None = None
        self._rest = b""  # what the last part ends with, if that is not a whole event
        self._dropping = False  # whether that goes on with an event which is too long

    def __iter__(self) -> Iterator[Rows]:
        """The events in batches, none of which is broken."""
        lanes = os.cpu_count() or 1
        free: deque[Scanner] = deque(self._scanner() for _ in range(lanes))
        waiting: deque[tuple[Part, Future[Rows]]] = deque()

        def next_free() -> Iterator[Scanner]:
            while True:
                yield free.popleft()

        with ThreadPoolExecutor(lanes, thread_name_prefix="stepscope-scanning") as executor:
            for part in self.list.parts(next_free(), self._part_bytes):
                waiting.append((part, executor.submit(_scan, part, 0)))
                if not free:
                    yield from self._in_order(*waiting.popleft(), free)
            while waiting:
                yield from self._in_order(*waiting.popleft(), free)

    def _scanner(self) -> Scanner:
        return Scanner(self._layout, SIZES.chunk_segments)

    def _in_order(self, part: Part, first: Future[Rows], free: deque[Scanner]) -> Iterator[Rows]:
        """The events of the next part."""
        rows = first.result()
        if self._dropping:
            yield from self._after_dropped(part)
        elif self._rest:
            # The last part was cut where no event begins: so was this one.
            yield from self._joined(part)
        else:
            yield from self._batches(part, rows)
        free.append(part.scanner)

    def _batches(self, part: Part, rows: Rows) -> Iterator[Rows]:
        position = 0
        while True:
            yield from self._sound(part, position, rows)
            position = rows.stop
            if rows.cut or position == part.size:
                break
            rows = _scan(part, position)
        self._rest = bytes(part.scanner.room(part.size)[position : part.size])
        if len(self._rest) > SIZES.event_bytes:
            self.lost += 1
            self._dropping = True
            self._rest = self._rest[-_TRAILER:]

    def _joined(self, part: Part, skip: int = 0) -> Iterator[Rows]:
        """The events of a part behind the rest of the one before."""
        text, self._rest = self._rest + bytes(part.scanner.room(part.size)[skip : part.size]), b""
        yield from self._scanned(text, closed=part.closed, ended=part.ended)

    def _scanned(self, text: bytes, *, closed: bool, ended: bool) -> Iterator[Rows]:
        again = self._scanner()
        again.room(len(text))[: len(text)] = np.frombuffer(text, np.uint8)
        part = Part(again, len(text), closed, ended)
        yield from self._batches(part, _scan(part, 0))

    def _after_dropped(self, part: Part) -> Iterator[Rows]:
        """The events of a part that starts inside of one which is too long."""
        text = self._rest.rstrip(_SEPARATORS)[-1:] + bytes(part.scanner.room(part.size)[: part.size])
        found = _NEXT_START.search(text)
        if found is None and part.ended:
            text = (self._rest + text)[-_TRAILER:]
            found = _LIST_END.search(text)
        if found is None:
            self._rest = (self._rest + text)[-_TRAILER:]
            return
        self._dropping, self._rest = False, b""
        yield from self._scanned(text[found.end() :], closed=part.closed, ended=part.ended)

    def _sound(self, part: Part, position: int, rows: Rows) -> Iterator[Rows]:
        """A batch, or what is made of it if something in it is broken or too long."""
        empty = rows.stop == part.size and part.ends_empty
        self.others += 0 if self.mender.waiting else max(0, rows.others - empty)
        too_long = self._too_long(part, rows)
        if not (rows.broken.any() or too_long or self.mender.waiting):
            if rows.start.size:
                yield rows
            return
        text = bytes(part.scanner.room(part.size)[position : rows.stop])
        ended = part.ended and rows.stop == part.size
        self.lost += len(too_long)
        chunk = Chunk.of(text, rows.start - position, rows.broken, too_long, ended)
        mended = self.mender.mend(chunk)
        yield from self._again_scanned(mended)

    def _too_long(self, part: Part, rows: Rows) -> list[int]:
        """Rows that are too long to be read, other than the text behind the list of events."""
        found = np.flatnonzero(rows.end - rows.start > SIZES.event_bytes).tolist()
        memory = part.scanner.room(part.size)
        return [row for row in found if memory[rows.start[row]] != ord("]")]

    def _again_scanned(self, text: bytes) -> Iterator[Rows]:
        """The events of a text whose events are whole."""
        if self._again is None:
            self._again = self._scanner()
        part = Part(self._again, len(text), closed=False, ended=True)
        self._again.room(part.size)[: part.size] = np.frombuffer(text, np.uint8)
        position = 0
        while position < part.size:
            rows = _scan(part, position)
            position = rows.stop
            if rows.start.size:
                yield rows


def _scan(part: Part, position: int) -> Rows:
    rows = part.scanner.scan(position, part.size, ended=part.ended, closed=part.closed, patience=_PATIENCE)
    if rows.stop == position and not rows.cut and position < part.size:
        raise NativeError("one event needs more room than there is for all")
    return rows
