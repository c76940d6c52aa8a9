"""Unpack compressed streams as far as possible: content before damage is kept, and what can be found after it.

Files may hold several streams one after the other, as those of `bgzip` and of appended logs do. After damage unpacking
continues with the next stream.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, Protocol

from stepscope.readers.packing.damage import Damage

#: Reads at most the given number of bytes; none at the end.
Read = Callable[[int], bytes]

#: Bytes read at a time.
_READ_BYTES: Final = 1 << 16
#: Bytes unpacked at a time.
_OUT_BYTES: Final = 1 << 16
#: Bytes fed at a time to libraries that drop what they unpacked from the same input as damage.
_FEW_BYTES: Final = 256
_WRONG: Final = (zlib.error, OSError, EOFError, ValueError, lzma.LZMAError)


class Unpacker(Protocol):
    """Common interface of Python's decompressors."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the end of the stream."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether all that was given is used up."""
        ...

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Unpack at most so many bytes."""
        ...


class Inflater:
    """zlib's decompressor with the interface of bz2's and lzma's; it gives all there is before a damage.

    Args:
        window: 31 for a gzip header and the largest window, -15 for a stream without a header.
    """

    def __init__(self, window: int = 31) -> None:
        self._inner = zlib.decompressobj(window)
        self._error: zlib.error | None = None
        self.needs_input = True

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the end of the stream."""
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Unpack at most `max_length` bytes; bytes before damage are returned before the error is raised."""
        if self._error is not None:
            raise self._error
        before = self._inner.copy()
        data = self._inner.unconsumed_tail + data
        try:
            result = self._inner.decompress(data, max_length)
        except zlib.error as error:
            self._error = error
            self.needs_input = False
            return _inflate_bytewise(before, data)
        self.needs_input = not self._inner.unconsumed_tail and len(result) < max_length
        return result


def _inflate_bytewise(inner: Any, data: bytes) -> bytes:
    """The unpacked bytes before damage in the data."""
    out = bytearray()
    try:
        for index in range(len(data)):
            out += inner.decompress(data[index : index + 1])
    except zlib.error:
        pass
    return bytes(out)


class Careful:
    """A decompressor fed with few bytes at a time, so that little is lost at damage."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._rest = b""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the end of the stream."""
        return bytes(self._inner.unused_data) + self._rest

    @property
    def needs_input(self) -> bool:
        """Whether all that was given is used up."""
        return not self._rest and bool(self._inner.needs_input)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Unpack at most so many bytes."""
        data = self._rest + data
        some = data[:_FEW_BYTES] if self._inner.needs_input else b""
        self._rest = data[len(some) :]
        return bytes(self._inner.decompress(some, max_length))


#: Unpackers by magic bytes.
UNPACKERS: Final[dict[bytes, Callable[[], Unpacker]]] = {
    b"\x1f\x8b": Inflater,
    b"BZh": lambda: Careful(bz2.BZ2Decompressor()),
    b"\xfd7zXZ\x00": lambda: Careful(lzma.LZMADecompressor(lzma.FORMAT_XZ)),
}
MAGIC_BYTES: Final = max(map(len, UNPACKERS))


def unpacker_of(start: bytes) -> Callable[[], Unpacker] | None:
    """The unpacker for a stream that starts with these bytes; None if it is not packed."""
    return next((make for magic, make in UNPACKERS.items() if start.startswith(magic)), None)


def window(file: IO[bytes], left: int) -> Read:
    """A reader of at most `left` bytes from a file's current position."""

    def read(size: int) -> bytes:
        nonlocal left
        block = file.read(min(size, left))
        left -= len(block)
        return block

    return read


def unpacked(read: Read, packed: bytes, damage: Damage) -> Iterator[bytes]:
    """The content of consecutive streams; data after the last one is ignored.

    Args:
        read: Reads packed bytes.
        packed: Packed bytes read already, from the magic bytes of the first stream on.
        damage: Receives damage.
    """
    make = unpacker_of(packed)
    while make is not None:
        unpacker = make()
        yield from one_stream(read, packed, unpacker, damage)
        if not unpacker.eof:
            return
        packed = unpacker.unused_data.lstrip(b"\0")
        while len(packed) < MAGIC_BYTES and (more := read(_READ_BYTES)):
            packed = (packed + more).lstrip(b"\0")
        make = unpacker_of(packed)


def one_stream(read: Read, packed: bytes, unpacker: Unpacker, damage: Damage) -> Iterator[bytes]:
    """The content of one stream, up to its end or to damage."""
    try:
        while not unpacker.eof:
            if unpacker.needs_input and not packed:
                packed = read(_READ_BYTES)
                if not packed:
                    damage.ends("the compressed data ends early")
                    return
            if out := unpacker.decompress(packed, _OUT_BYTES):
                yield out
            packed = b""
    except _WRONG as error:
        damage.ends(f"the compressed data is damaged ({error})")
