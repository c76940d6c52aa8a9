"""Unpack compressed streams as far as possible: content before damage is kept, and what can be found after it.

Files may hold several streams one after the other, as those of `bgzip` and of appended logs do. After damage unpacking
continues with the next stream.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Final

from stepscope.language import said
from stepscope.model.amounts import plural, quantity
from stepscope.readers.packing.damage import Damage
from stepscope.readers.packing.unpackers import LIBRARIES, OUT_BYTES, READ_BYTES, UNPACKERS, Unpacker

#: Reads at most the given number of bytes; none at the end.
Read = Callable[[int], bytes]
#: Packed bytes of a damaged stream that are searched for the next one: decompressors may notice damage late.
_RECENT_BYTES: Final = 1 << 18
#: Packed bytes that must unpack without an error to count as the start of a stream.
_TRIED_BYTES: Final = 1 << 12
#: False starts and damaged streams per input before the search is given up, which bounds its time.
_TRIES: Final = 1_000
_WRONG: Final = (zlib.error, OSError, EOFError, ValueError, lzma.LZMAError)


def window(file: IO[bytes], left: int) -> Read:
    """A reader of at most `left` bytes from a file's current position."""

    def read(size: int) -> bytes:
        nonlocal left
        block = file.read(min(size, left))
        left -= len(block)
        return block

    return read


def unpacked(read: Read, packed: bytes, damage: Damage) -> Iterator[bytes]:
    """The content of consecutive streams; after a damaged one it continues with the next that can be found.

    Args:
        read: Reads packed bytes.
        packed: Packed bytes read already, from the magic bytes of the first stream on.
        damage: Receives damage.
    """
    beginnings = Beginnings(read, packed)
    streams = 0
    broken: list[str] = []
    place = len(damage.messages)
    while packed:
        streams += 1
        recent, unpacker, wrong = _Recent(read, packed), beginnings.unpacker(), Damage()
        yield from one_stream(recent.read, b"", unpacker, wrong)
        if unpacker.eof:
            packed, between = beginnings.after(unpacker.unused_data)
            if between:
                broken.append(said("{between} behind a stream are none", between=quantity(between, "bytes")))
        else:
            packed = beginnings.after_damage(recent.data)
            broken += wrong.messages
            if not packed:
                damage.whole = False
        if broken:
            damage.messages[place:] = [_summary(broken, streams, damage.whole)]


def _summary(broken: list[str], streams: int, whole: bool) -> str:
    if streams == 1 or (len(broken) == 1 and not whole):
        return broken[0]
    return f"{broken[0]}, in {len(broken):,} of {plural(streams, 'stream')}"


class _Recent:
    """Reads packed bytes, and keeps the last of them.

    Args:
        read: Reads packed bytes.
        data: Bytes that come before those.
    """

    def __init__(self, read: Read, data: bytes) -> None:
        self._read = read
        self._first = data
        self.data = b""

    def read(self, size: int) -> bytes:
        """The next bytes."""
        block, self._first = self._first or self._read(size), b""
        self.data = (self.data + block)[-_RECENT_BYTES:]
        return block


class Beginnings:
    """Finds where streams begin in packed bytes.

    Args:
        read: Reads packed bytes.
        first: The first bytes of the first stream.
    """

    def __init__(self, read: Read, first: bytes) -> None:
        self._read = read
        self._magic = next(magic for magic in UNPACKERS if first.startswith(magic))
        self._tries = _TRIES

    def unpacker(self) -> Unpacker:
        """A new unpacker for one stream."""
        return UNPACKERS[self._magic]()

    def after(self, data: bytes, *, due: bool = True) -> tuple[bytes, int]:
        """The bytes from the next start of a stream on (empty if none), and the number of non-zero bytes before.

        Args:
            data: Bytes read already, searched first.
            due: A stream is expected right here: its magic bytes are enough.
        """
        passed = 0
        while True:
            at = data.find(self._magic)
            before = data if at < 0 else data[:at]
            keep = 0 if at >= 0 else len(self._magic) - 1
            passed += len(before[: len(before) - keep].strip(b"\0"))
            if at < 0:
                more = self._read(READ_BYTES)
                if not more:
                    return b"", passed + len(before[len(before) - keep :].strip(b"\0"))
                data = data[len(data) - keep :] + more
                continue
            data = data[at:]
            while len(data) < _TRIED_BYTES and (more := self._read(READ_BYTES)):
                data += more
            if (due and not passed) or self._is_one(data):
                return data, passed
            if self._tries <= 0:
                return b"", passed + len(data)
            passed, data = passed + 1, data[1:]

    def after_damage(self, data: bytes) -> bytes:
        """The same after damage, which may have been noticed only inside the next stream."""
        self._tries -= 1
        return self.after(data[1:], due=False)[0]

    def _is_one(self, data: bytes) -> bool:
        """Whether the bytes from some magic bytes on unpack: the two of gzip occur by chance once in 64 KiB."""
        if self._tries <= 0:
            return False
        try:
            LIBRARIES[self._magic]().decompress(data[:_TRIED_BYTES], OUT_BYTES)
        except _WRONG:
            self._tries -= 1
            return False
        return True


def one_stream(read: Read, packed: bytes, unpacker: Unpacker, damage: Damage) -> Iterator[bytes]:
    """The content of one stream, up to its end or to damage."""
    try:
        while not unpacker.eof:
            if unpacker.needs_input and not packed:
                packed = read(READ_BYTES)
                if not packed:
                    damage.ends("the compressed data ends early")
                    return
            if out := unpacker.decompress(packed, OUT_BYTES):
                yield out
            packed = b""
    except _WRONG as error:
        damage.ends(said("the compressed data is damaged ({error})", error=error))
