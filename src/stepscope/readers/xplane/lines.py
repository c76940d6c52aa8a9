"""Read the events of a line: most of a recording, so that their usual form is decoded in place."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from stepscope.readers.xplane.planes import text
from stepscope.readers.xplane.wire import BYTES, VARINT, BrokenError, CutError, Data, WireLosses, fields, signed, varint

#: Bytes of a line that are decoded at a time.
WINDOW: Final = 1 << 20
#: The fields of a line that are events, and of an event, as they are written.
_EVENT: Final = 0x22
_NAME: Final = 0x08
_OFFSET: Final = 0x10
_DURATION: Final = 0x18
_STAT: Final = 0x22
#: A number of 64 bits has no more.
_BITS: Final = 64

#: Offset from the line's start and duration in ps, number of the name, and the fields that are its stats, as written.
#: It has no offset if it stands for several.
Event = tuple[int | None, int, int, bytes]


class PlaneLine:
    """A line of a plane, from `start` to `end`, whose own fields are known when its events were read.

    Attributes:
        number: What tells it from others of the plane.
        name: What it is called.
        start_ns: The time from which its events count; it stands before them.
    """

    def __init__(self, data: Data, start: int, end: int, losses: WireLosses, window: int = WINDOW) -> None:
        self._data, self._start, self._end, self._losses, self._window = data, start, end, losses, window
        self.number = self.start_ns = 0
        self.name = self._shown = ""

    @property
    def label(self) -> str:
        """The name to be shown."""
        return self._shown or self.name

    def events(self) -> Iterator[Event]:
        """The events, up to damage that hides where the next one begins."""
        at, size = self._start, self._window
        try:
            while at < self._end:
                window = self._data[at : min(at + size, self._end)]
                read = yield from self._whole(window, last=at + len(window) >= self._end)
                size = self._window if read else size * 2
                at += read
        except BrokenError as error:
            self._losses.add(error, last=self._end == len(self._data))

    def _whole(self, window: bytes, *, last: bool) -> Generator[Event, None, int]:
        """The events that lie in a window as a whole; returns where the rest of it begins."""
        at, end = 0, len(window)
        while at < end:
            start = at
            try:
                if window[at] != _EVENT:
                    at = self._about(window, at)
                    continue
                size, at = varint(window, at + 1, end)
                stop = at + size
                if stop > end:
                    raise CutError
            except CutError:
                if last:
                    raise
                return start
            found = _usual(window, at, stop)
            if found is None:
                try:
                    found = _unusual(window, at, stop)
                except BrokenError:
                    self._losses.broken += 1
            if found is not None:
                yield found
            at = stop
        return end

    def _about(self, window: bytes, at: int) -> int:
        """Read a field that is no event; returns where it ends."""
        number, kind, value, stop = next(fields(window, at, len(window)))
        if (number, kind) == (1, VARINT):
            self.number = signed(value)
        elif (number, kind) == (3, VARINT):
            self.start_ns = signed(value)
        elif (number, kind) == (2, BYTES):
            self.name = text(window, value, stop)
        elif (number, kind) == (11, BYTES):
            self._shown = text(window, value, stop)
        return stop


def _usual(window: bytes, at: int, stop: int) -> Event | None:
    """The event that a message is if it has fields in order, and numbers of up to 64 bits; None if it is another."""
    try:
        if window[at] != _NAME:
            return None
        byte = window[at + 1]
        at += 2
        name, shift = byte & 0x7F, 7
        while byte > 0x7F and shift < _BITS:
            byte = window[at]
            name |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        if window[at] != _OFFSET:
            return None
        byte = window[at + 1]
        at += 2
        offset, shift = byte & 0x7F, 7
        while byte > 0x7F and shift < _BITS:
            byte = window[at]
            offset |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        duration = 0
        if at < stop and window[at] == _DURATION:
            byte = window[at + 1]
            at += 2
            duration, shift = byte & 0x7F, 7
            while byte > 0x7F and shift < _BITS:
                byte = window[at]
                duration |= (byte & 0x7F) << shift
                shift += 7
                at += 1
        # Of negative numbers the highest bit is set.
        if at > stop or byte > 0x7F or (name | offset | duration) >> 63 or (at < stop and window[at] != _STAT):
            return None
        return offset, duration, name, window[at:stop]
    except IndexError:
        return None


def _unusual(window: bytes, at: int, stop: int) -> Event:
    """The event that a message is.

    Raises:
        BrokenError: It is none.
    """
    name = duration = 0
    offset: int | None = 0
    stats = b""
    for number, kind, value, end in fields(window, at, stop):
        if kind == BYTES and number == 4:
            stats += window[at:end]
        elif kind == VARINT and number == 1:
            name = signed(value)
        elif kind == VARINT and number == 2:
            offset = signed(value)
        elif kind == VARINT and number == 3:
            duration = signed(value)
        elif kind == VARINT and number == 5:
            offset = None
        at = end
    return offset, duration, name, stats
