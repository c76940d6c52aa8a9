"""Decode Protocol Buffers (https://protobuf.dev/programming-guides/encoding/) that may be cut, or hold anything."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import Final

Data = bytes | mmap
#: Number, kind, and value and end; of BYTES, start and end.
Field = tuple[int, int, int, int]

#: Kinds of fields that are read; groups, which are no longer in use, are damage.
VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
_SIZES: Final = {FIXED64: 8, FIXED32: 4}
#: Most bytes of a number.
_LONGEST: Final = 10


class BrokenError(ValueError):
    """Bytes that are no message."""


class CutError(BrokenError):
    """The data ends in the middle of a message."""


@dataclass(slots=True)
class WireLosses:
    """What could not be read.

    Attributes:
        cut: Whether the data ends in the middle.
        broken: Stretches that are no messages.
    """

    cut: bool = False
    broken: int = 0

    def add(self, error: BrokenError, *, last: bool = False) -> None:
        """Count an error; `last` if the data ends where the message does, which then may be cut."""
        if last and isinstance(error, CutError):
            self.cut = True
        else:
            self.broken += 1


def varint(data: Data, at: int, end: int) -> tuple[int, int]:
    """The number at `at`, and where it ends.

    Raises:
        BrokenError: There is none.
    """
    value = shift = 0
    for place in range(at, min(end, at + _LONGEST)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
        shift += 7
    raise CutError if end < at + _LONGEST else BrokenError


def signed(value: int) -> int:
    """A number as an int64."""
    return value - (1 << 64) if value >> 63 else value


def double(value: int) -> float:
    """The number whose bytes a FIXED64 is."""
    [number] = struct.unpack("<d", value.to_bytes(8, "little"))
    return float(number)


def fields(data: Data, at: int, end: int, *, may_be_cut: int = 0) -> Iterator[Field]:
    """The fields of the message from `at` to `end`.

    Args:
        data: The data.
        at: Where the message starts.
        end: Where it ends.
        may_be_cut: The number of a field that is given up to `end` if it ends behind that.

    Raises:
        BrokenError: What follows is no field; a CutError if it would end behind the message.
    """
    while at < end:
        tag, at = varint(data, at, end)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = varint(data, at, end)
        elif kind == BYTES:
            size, start = varint(data, at, end)
            value, at = start, start + size
            if at > end and number == may_be_cut:
                yield number, kind, value, end
        elif kind in _SIZES:
            start, at = at, at + _SIZES[kind]
            value = int.from_bytes(data[start : min(at, end)], "little")
        else:
            raise BrokenError
        if not number:
            raise BrokenError
        if at > end:
            raise CutError
        yield number, kind, value, at
