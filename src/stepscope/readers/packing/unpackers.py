"""Unpackers of single streams of gzip, bzip2 and xz, and which of them a stream begins like."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any, Final, Protocol

#: Bytes read at a time.
READ_BYTES: Final = 1 << 16
#: Bytes unpacked at a time.
OUT_BYTES: Final = 1 << 16
#: Bytes fed at a time to libraries that drop what they unpacked from the same input as damage.
_FEW_BYTES: Final = 256


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


#: Decompressors of the libraries, and unpackers, by magic bytes.
LIBRARIES: Final[dict[bytes, Callable[[], Any]]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
}
UNPACKERS: Final[dict[bytes, Callable[[], Unpacker]]] = {
    magic: Inflater if magic.startswith(b"\x1f") else lambda make=make: Careful(make())  # type: ignore[misc]
    for magic, make in LIBRARIES.items()
}
MAGIC_BYTES: Final = max(map(len, UNPACKERS))


def unpacker_of(start: bytes) -> Callable[[], Unpacker] | None:
    """The unpacker for a stream that starts with these bytes; None if it is not packed."""
    return next((make for magic, make in UNPACKERS.items() if start.startswith(magic)), None)
