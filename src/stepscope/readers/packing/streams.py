"""Compressed streams, unpacked as far as that goes: what comes before a damage is kept, and what can be found after it.

`gzip` files may hold several streams one after the other, as those of `bgzip` and of appended logs do; so may the
others. A stream that is damaged is left where the next one begins.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, Protocol

from stepscope.readers.packing.damage import Damage

#: Reads up to so many bytes; none at the end.
Read = Callable[[int], bytes]

#: Bytes that are read at a time.
_READ_BYTES: Final = 1 << 16
#: Bytes that are unpacked to at a time.
_OUT_BYTES: Final = 1 << 16
#: Bytes that are given to a library that keeps back what it unpacked from the same ones as a damage.
_FEW_BYTES: Final = 256
_WRONG: Final = (zlib.error, OSError, EOFError, ValueError, lzma.LZMAError)


class Unpacker(Protocol):
    """What the decompressors of Python have in common."""

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
        """Unpack at most so many bytes, and those before a damage before that is raised."""
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
    """What comes out of damaged data before the damage."""
    out = bytearray()
    try:
        for index in range(len(data)):
            out += inner.decompress(data[index : index + 1])
    except zlib.error:
        pass
    return bytes(out)


class Careful:
    """A decompressor that is given few bytes at a time, so that little is lost with a damage."""

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


#: By the first bytes of a packed stream.
UNPACKERS: Final[dict[bytes, Callable[[], Unpacker]]] = {
    b"\x1f\x8b": Inflater,
    b"BZh": lambda: Careful(bz2.BZ2Decompressor()),
    b"\xfd7zXZ\x00": lambda: Careful(lzma.LZMADecompressor(lzma.FORMAT_XZ)),
}
MAGIC_BYTES: Final = max(map(len, UNPACKERS))


def unpacker_of(start: bytes) -> Callable[[], Unpacker] | None:
    """What unpacks a stream that begins like that; None for what is not packed."""
    return next((make for magic, make in UNPACKERS.items() if start.startswith(magic)), None)


def window(file: IO[bytes], left: int) -> Read:
    """Reads a file from where it is, and no more than so many bytes of it."""

    def read(size: int) -> bytes:
        nonlocal left
        block = file.read(min(size, left))
        left -= len(block)
        return block

    return read


def unpacked(read: Read, packed: bytes, damage: Damage) -> Iterator[bytes]:
    """The content of streams that follow each other; what follows the last one is not looked at.

    Args:
        read: Reads what is packed.
        packed: What was read of it already, with the magic bytes of the first stream.
        damage: Told of what is wrong.
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
    """The content of one stream, up to its end or to a damage."""
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
