"""Split a stream of JSON text into events without parsing it.

A trace is an object with a `traceEvents` list, or a bare list. Two events are separated by `}`, commas and white space,
and `{`. Outside strings this also occurs between objects of a list in an event's arguments, and nowhere else. The text
is split at every such place in one vectorised pass; decoding joins segments of a wrongly split event.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.model.sizes import SIZES
from stepscope.readers.content import BLOCK_BYTES, CHUNK_BYTES, ReadInto
from stepscope.readers.kineto.arguments import argument_slices
from stepscope.readers.kineto.boundaries import Boundaries
from stepscope.readers.kineto.launch_flows import LaunchFlowFinder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EVENTS_KEY: Final = re.compile(rb'"traceEvents"\s*:\s*\[')

#: Most text before the events, kept for its metadata.
HEADER_LIMIT: Final = 64 << 20
#: Longest text of joined segments of one event.
EVENT_LIMIT: Final = 64 << 20
_SEPARATORS: Final = b" \t\r\n,"
#: Last bytes of a dropped event in which the end of the event list is searched.
_TRAILER: Final = 1 << 20
_NOTHING: Final = b'{"ph":"M"}'
#: Length of the shortest event without its last byte.
_LEAST: Final = len(_NOTHING) - 1
_LIST_END: Final = re.compile(rb"\}(?=[\s,]*\])")
#: Memory is allocated in slabs of slots; a slot holds one block of text and the rest of the one before.
_SLOT: Final = 9 << 20
_SLOTS: Final = 7


@dataclass(frozen=True, slots=True)
class Segments:
    """Consecutive segments of text, most of them one event each.

    Segment `i` is `text[offsets[i]:offsets[i + 1]]`; the commas between segments are blanked: tabs stand for them.

    Attributes:
        text: The text, at the start of `slot`.
        slot: Buffer to be reused once the segments are decoded.
        flat: Whether each segment has no nested object; false also if that would need a look into strings.
        flow: Whether each segment certainly is the flow of a launch.
        args_start: Offset of each segment's arguments in the text.
        args_length: Length of the arguments; 0 if it must be found by parsing.
    """

    text: memoryview
    slot: memoryview
    offsets: NDArray[np.int32]
    flat: NDArray[np.bool_]
    flow: NDArray[np.bool_]
    args_start: NDArray[np.int32]
    args_length: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes:
        return bytes(self.text[self.offsets[index] : self.offsets[index + 1]])


@dataclass(frozen=True, slots=True)
class Chunk:
    """Segments that are decoded together in one query.

    Attributes:
        last: Whether it is the last chunk, whose last segment also holds the end of the event list.
    """

    parts: tuple[Segments, ...]
    last: bool = False

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def __getitem__(self, index: int) -> bytes:
        for part in self.parts:
            if index < len(part):
                return part[index]
            index -= len(part)
        raise IndexError(index)

    def take(self, indices: Sequence[int]) -> list[bytes]:
        """The segments at ascending indices."""
        taken: list[bytes] = []
        position = start = 0
        for part in self.parts:
            view, offsets = part.text, part.offsets.tolist()
            while position < len(indices) and indices[position] - start < len(part):
                index = indices[position] - start
                taken.append(bytes(view[offsets[index] : offsets[index + 1]]))
                position += 1
            start += len(part)
        return taken


def unblanked(segment: bytes) -> bytes:
    """A segment with the comma restored that the framer blanked."""
    body, brace, space = segment.rpartition(b"}")
    return body + brace + space.replace(b"\t", b",", 1)


def gather(segments: Iterable[Segments], size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Group consecutive segments into chunks of about `size` bytes."""
    parts: list[Segments] = []
    total = 0
    number = 0
    for part in (few for many in segments for few in _fewer(many)):
        # A full chunk is yielded only once more text shows that it is not the last.
        if total >= size or number + len(part) > SIZES.chunk_segments:
            yield Chunk(tuple(parts))
            parts, total, number = [], 0, 0
        parts.append(part)
        total += len(part.text)
        number += len(part)
    if parts:
        yield Chunk(tuple(parts), last=True)


def _fewer(segments: Segments) -> Iterator[Segments]:
    """Split segments into parts no larger than a chunk."""
    most = SIZES.chunk_segments
    for first in range(0, len(segments), most):
        last = first + most >= len(segments)
        if first == 0 and last:
            yield segments
            return
        rows = slice(first, first + most)
        yield replace(
            segments,
            # The last part returns the buffer.
            slot=segments.slot if last else segments.slot[:0],
            offsets=segments.offsets[first : first + most + 1],
            flat=segments.flat[rows],
            flow=segments.flow[rows],
            args_start=segments.args_start[rows],
            args_length=segments.args_length[rows],
        )


class Framer:
    """Splits a stream of JSON text into `Segments`.

    Attributes:
        header: Text before the first event; a bare list has none.
        bare: Whether the events are a bare list, or loose objects without one.
        found: Whether a list of events was found, even an empty one.
        late: Whether it was not looked for any further.
        lost: Number of events dropped for being longer than `SIZES.event_bytes`.
        short: Number of objects skipped for being too short to be events.
    """

    def __init__(self) -> None:
        self.header = b""
        self.bare = False
        self.found = self.late = False
        self.lost = self.short = 0
        self._free: deque[memoryview] = deque()
        self._flows = LaunchFlowFinder()
        self._boundaries = Boundaries()

    def segments(self, read: ReadInto, block_bytes: int = BLOCK_BYTES) -> Iterator[Segments]:
        """Yield the segments of a stream, the last of which may hold text after the events.

        Args:
            read: Reads the stream.
            block_bytes: Bytes framed at a time; they should fit the CPU's cache.
        """
        rest = self._find_events(read, block_bytes)
        within = False  # inside a dropped event
        while True:
            slot = self._slot(len(rest) + block_bytes)
            slot[: len(rest)] = rest
            size = read(slot[len(rest) : len(rest) + block_bytes])
            text = slot[: len(rest) + size]
            if not size:
                break
            segments = self._cut(text, slot, within=within)
            if len(segments):
                rest = bytes(segments.text[int(segments.offsets[-1]) :])
                within = False
                yield segments
                continue
            # There may also be much text before or after an event.
            rest = bytes(text) if len(text) <= SIZES.event_bytes else bytes(text).strip(_SEPARATORS)
            self._free_slot(slot)
            if within or len(rest) > SIZES.event_bytes:
                self.lost += not within
                rest, within = rest[-_TRAILER:], True
        if rest.strip():
            yield self._cut(text, slot, whole=True, within=within)

    def reuse(self, chunk: Chunk) -> None:
        """Reuse the buffers of a finished chunk; thread-safe.

        The system clears fresh pages, which takes longer than framing itself.
        """
        for part in chunk.parts:
            self._free_slot(part.slot)

    def _free_slot(self, slot: memoryview) -> None:
        if len(slot) == _SLOT:
            self._free.append(slot)

    def _slot(self, size: int) -> memoryview:
        """A buffer for a text of at most `size` bytes."""
        if size > _SLOT:
            return _memory(size)
        if not self._free:
            slab = _memory(_SLOT * _SLOTS)
            self._free.extend(slab[_SLOT * i : _SLOT * (i + 1)] for i in range(_SLOTS))
        return self._free.pop()

    def _cut(self, text: memoryview, slot: memoryview, *, whole: bool = False, within: bool = False) -> Segments:
        """Split the text up to its last boundary between events, or to its end; blanks commas between segments.

        Args:
            text: Starts with an event, or inside a dropped one.
            slot: The buffer of the text.
            whole: Whether it is the end of the stream.
            within: Whether it starts inside a dropped event.
        """
        raw = np.frombuffer(text, dtype=np.uint8)
        braces, ordinal, close = self._find(raw)
        starts = braces[ordinal]
        self._give_up(raw, np.append(0, starts), close, whole=whole, within=within)
        flat = np.diff(ordinal, prepend=-2) == 1
        start, length = argument_slices(raw, braces, ordinal, close[1:])
        flow = self._flows.find(text, starts[:-1], close[1:], flat[1:])
        if whole:
            starts, flat = np.append(starts, len(text)), np.append(flat, False)
        # The first segment starts at 0, maybe before its brace: the parser finds its arguments, and those at the end.
        edges = (int(len(ordinal) > 0), int(whole))
        start, length, flow = np.pad(start, edges), np.pad(length, edges), np.pad(flow, edges)
        offsets = np.concatenate([[0], starts]).astype(np.int32)
        return Segments(text, slot, offsets, flat, flow, start, length)

    def _find(self, raw: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Positions of braces except one at the very start, indices of those that start segments, the `}` before each.

        Objects too short to be events are blanked if they are very many: each would take as long as an event.
        """
        for _ in range(2):
            braces = np.flatnonzero(raw == ord("{"))
            braces = braces[braces > 0]
            ordinal, close = self._boundaries.find(raw, braces)
            start = np.append(0, braces[ordinal])[: close.size]
            short = close - start < _LEAST
            # A few occur in lists in the arguments of events.
            if np.count_nonzero(short) <= SIZES.short_segments:
                break
            self.short += int(np.count_nonzero(short))
            edges = np.zeros(raw.size + 1, np.int8)
            np.add.at(edges, start[short], 1)
            np.add.at(edges, close[short] + 1, -1)
            raw[np.cumsum(edges[:-1], dtype=np.int8) > 0] = ord(" ")
        return braces, ordinal, close

    def _give_up(
        self, raw: NDArray[np.uint8], starts: NDArray[np.int64], close: NDArray[np.int64], *, whole: bool, within: bool
    ) -> None:
        """Replace events that are too long, and the rest of one dropped before."""
        if whole and (within or raw.size > SIZES.event_bytes):
            # The last one is followed by the text after the events.
            found = _LIST_END.search(raw.data, max(int(starts[-1]), raw.size - _TRAILER))
            close = np.append(close, raw.size - 1 if found is None else found.start())
        long = close - starts[: close.size] > SIZES.event_bytes
        if within and long.size:
            long[0] = True
        for index in np.flatnonzero(long).tolist():
            place = raw[int(starts[index]) : int(close[index]) + 1]
            goes_on = within and index == 0
            # There may be much white space before an event.
            if not goes_on and len(place.tobytes().lstrip(_SEPARATORS)) <= SIZES.event_bytes:
                continue
            self.lost += not goes_on
            place[:] = ord(" ")
            # An empty event takes its place.
            place[: len(_NOTHING)] = np.frombuffer(_NOTHING, np.uint8)[: place.size]

    def _find_events(self, read: ReadInto, block_bytes: int) -> bytes:
        """Read up to the first event; returns the text read from there on."""
        head = bytearray()
        block = _memory(block_bytes)
        while size := read(block):
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


def _memory(size: int) -> memoryview:
    return np.empty(size, np.uint8).data
