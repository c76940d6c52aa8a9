"""What an XSpace holds (https://github.com/openxla/xla, xplane.proto): planes, their lines, and names by number.

A plane is a device or a host, a line of it a queue or a thread. Names of events and of what they say stand behind the
lines, once each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from stepscope.readers.xplane.wire import (
    BYTES,
    FIXED64,
    VARINT,
    BrokenError,
    Data,
    Field,
    WireLosses,
    double,
    fields,
    signed,
)  # fmt: skip

#: Longest text that is kept of a name or value: whole instructions of a compiled program are among them.
_LONGEST: Final = 4096

#: What the profiler says about itself, and leaves out of what it shows.
_INTERNAL: Final = frozenset({"_pt", "_p", "_ct", "_c", "_r", "flops", "program_id", "symbol_id"})


@dataclass(slots=True)
class MessageSpans:
    """Where messages start and end: there may be many, so that each takes 16 bytes."""

    ends: array[int] = field(default_factory=lambda: array("q"))

    def add(self, start: int, end: int) -> None:
        """Add a message."""
        self.ends.extend((start, end))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.ends[::2], self.ends[1::2], strict=True)


@dataclass(frozen=True, slots=True)
class EventName:
    """What events of one kind are called: shortly if that differs, and what is said of all of them."""

    name: str
    long_name: str = ""
    stats: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Plane:
    """A plane; names are read when they are asked for."""

    data: Data
    losses: WireLosses
    number: int = 0
    name: str = ""
    lines: MessageSpans = field(default_factory=MessageSpans)
    _events: MessageSpans = field(default_factory=MessageSpans)
    _stats: MessageSpans = field(default_factory=MessageSpans)
    _values: MessageSpans = field(default_factory=MessageSpans)
    _stat_names: dict[int, str] | None = None

    @classmethod
    def of(cls, data: Data, start: int, end: int, losses: WireLosses) -> Plane:
        """The plane from `start` to `end`, as far as it can be read."""
        plane = cls(data, losses)
        held = {3: plane.lines, 4: plane._events, 5: plane._stats, 6: plane._values}
        try:
            for number, kind, value, stop in fields(data, start, end, may_be_cut=3):
                if number == 1 and kind == VARINT:
                    plane.number = signed(value)
                elif number == 2 and kind == BYTES:
                    plane.name = text(data, value, stop)
                elif number in held and kind == BYTES:
                    held[number].add(value, stop)
        except BrokenError as error:
            losses.add(error, last=end == len(data))
        return plane

    @property
    def stat_names(self) -> dict[int, str]:
        """What is said of events, by number."""
        if self._stat_names is None:
            self._stat_names = {
                key: "".join(
                    text(self.data, at, end) for number, kind, at, end in found if (number, kind) == (2, BYTES)
                )
                for key, found in self._entries(self._stats)
            }
        return self._stat_names

    @property
    def said_names(self) -> dict[int, str]:
        """The same without what is the profiler's own affair."""
        return {key: name for key, name in self.stat_names.items() if name and name not in _INTERNAL}

    def event_names(self) -> dict[int, EventName]:
        """What events are called, by number."""
        return {key: self._event_name(found) for key, found in self._entries(self._events)}

    def _event_name(self, found: list[Field]) -> EventName:
        names: dict[int, str] = {}
        stats: list[tuple[str, str]] = []
        for number, kind, value, end in found:
            if number in (2, 4) and kind == BYTES:
                names[number] = text(self.data, value, end)
            elif number == 5 and kind == BYTES:
                stats += self.stat(self.data, value, end)
        name, short = names.get(2, ""), names.get(4, "")
        return EventName(short or name, name if short else "", tuple(stats))

    def _entries(self, spans: MessageSpans) -> Iterator[tuple[int, list[Field]]]:
        """Keys of a map, and the fields of what it maps them to."""
        for start, end in spans:
            key = 0
            found: list[Field] = []
            try:
                for number, kind, value, stop in fields(self.data, start, end):
                    if (number, kind) == (1, VARINT):
                        key = signed(value)
                    elif (number, kind) == (2, BYTES):
                        found = list(fields(self.data, value, stop))
            except BrokenError as error:
                self.losses.add(error)
                continue
            yield key, found

    def about(self) -> dict[str, str]:
        """What is said of the plane as a whole; bytes are characters of Latin-1."""
        return dict(said for start, end in self._values for said in self.stat(self.data, start, end, raw=True))

    def stat(self, data: Data, start: int, end: int, *, raw: bool = False) -> list[tuple[str, str]]:
        """What a stat says: a name and a value; nothing if it is the profiler's own affair, or can't be read."""
        key, said = 0, None
        try:
            for number, kind, value, stop in fields(data, start, end):
                if kind == VARINT and number == 1:
                    key = signed(value)
                elif kind == FIXED64 and number == 2:
                    said = repr(double(value))
                elif kind == VARINT and number in (3, 4):
                    said = str(value if number == 3 else signed(value))
                elif kind == BYTES and number == 5:
                    said = text(data, value, stop)
                elif kind == BYTES and number == 6 and raw:
                    said = bytes(data[value : min(stop, value + _LONGEST)]).decode("latin-1")
                elif kind == VARINT and number == 7:
                    said = self.stat_names.get(signed(value), "")
        except BrokenError as error:
            self.losses.add(error)
            return []
        name = self.stat_names.get(key, "")
        return [(name, said)] if said is not None and name and name not in _INTERNAL else []


def text(data: Data, start: int, end: int) -> str:
    """A text, or the beginning of a very long one."""
    return bytes(data[start : min(end, start + _LONGEST)]).decode("utf-8", "replace")
