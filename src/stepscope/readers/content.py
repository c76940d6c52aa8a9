"""Bytes of an input, whatever it is packed in."""

from __future__ import annotations

import bz2
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from stepscope.readers.protocol import Progress, Source

#: Puts the next bytes of a content into memory; returns how many, 0 at the end.
ReadInto = Callable[[memoryview], int]

_ZIP: Final = b"PK\x03\x04"

#: Bytes read and unpacked at a time: few, as what is unpacked in the same go as a damage may be lost.
_PACKED_BLOCK: Final = 1 << 16
BLOCK_BYTES: Final = 8 << 20
#: Text that is decoded in one go. Framing works on smaller blocks, which stay in the processor's cache.
CHUNK_BYTES: Final = 16 << 20


@dataclass(slots=True)
class Damage:
    """What was wrong with the packing of an input; empty if nothing was."""

    messages: list[str] = field(default_factory=list)


class _Inflater:
    """zlib's decompressor with the interface of bz2's and lzma's; it gives all there is before a damage."""

    def __init__(self) -> None:
        # 31 = the largest window and a gzip header.
        self._inner = zlib.decompressobj(31)
        self._error: zlib.error | None = None
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._error is not None:
            raise self._error
        before = self._inner.copy()
        data = self._inner.unconsumed_tail + data
        try:
            result = self._inner.decompress(data, max_length)
        except zlib.error as error:
            self._error = error
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


#: By the first bytes of a packed stream.
_UNPACKERS: Final[dict[bytes, Callable[[], Any]]] = {
    b"\x1f\x8b": _Inflater,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lzma.LZMADecompressor,
}


_MAGIC_BYTES: Final = max(map(len, _UNPACKERS))


def _unpacker(start: bytes) -> Callable[[], Any] | None:
    return next((make for magic, make in _UNPACKERS.items() if start.startswith(magic)), None)


def head(source: Source, size: int = 1 << 16) -> bytes:
    """The first `size` bytes of the content, fewer if there are not as many or the packing is broken.

    Raises:
        OSError: The file can't be read.
    """
    collected = b""
    for block in blocks(source, Damage(), lambda _: None, block_size=size):
        collected += block
        if len(collected) >= size:
            break
    return collected[:size]


def archive_members(path: Path) -> list[str]:
    """Names of the files in a zip archive; empty if the file is no readable zip archive.

    Raises:
        OSError: The file can't be read.
    """
    with path.open("rb") as file:
        if file.read(len(_ZIP)) != _ZIP:
            return []
    try:
        with zipfile.ZipFile(path) as archive:
            return [info.filename for info in archive.infolist() if not info.is_dir() and info.file_size]
    except zipfile.BadZipFile:
        return []


def blocks(source: Source, damage: Damage, progress: Progress, block_size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The content in blocks of at most `block_size` bytes, as far as it can be unpacked.

    A broken or cut archive ends the blocks early; `damage` then says so.

    Raises:
        OSError: The file can't be opened.
    """
    with source.path.open("rb") as file:
        if source.member:
            yield from _member_blocks(file, source.member, damage, progress, block_size)
        else:
            yield from _stream_blocks(file, damage, progress, block_size)


@contextmanager
def content(source: Source, damage: Damage, progress: Progress, block_size: int = BLOCK_BYTES) -> Iterator[ReadInto]:
    """The same without a copy where nothing has to be unpacked.

    Raises:
        OSError: The file can't be opened.
    """
    with source.path.open("rb") as file:
        start = b"" if source.member else file.read(_MAGIC_BYTES)
        if source.member or _unpacker(start) is not None:
            yield from_blocks(blocks(source, damage, progress, block_size))
            return
        file.seek(0)

        def read(target: memoryview) -> int:
            size = file.readinto(target)
            progress(size)
            return size

        yield read


def from_blocks(blocks: Iterable[bytes]) -> ReadInto:
    """Read from blocks that are in memory."""
    stream = iter(blocks)
    pending = memoryview(b"")

    def read(target: memoryview) -> int:
        nonlocal pending
        pending = pending or memoryview(next(stream, b""))
        size = min(len(pending), len(target))
        target[:size] = pending[:size]
        pending = pending[size:]
        return size

    return read


def _member_blocks(
    file: IO[bytes], member: str, damage: Damage, progress: Progress, block_size: int
) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(file) as archive, archive.open(member) as content:
            info = archive.getinfo(member)
            ratio = info.compress_size / max(1, info.file_size)
            yield from _stream_blocks(content, damage, lambda size: progress(int(size * ratio)), block_size)
    except (zipfile.BadZipFile, zlib.error, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        damage.messages.append(f"the archive is damaged ({error})")


def _stream_blocks(file: IO[bytes], damage: Damage, progress: Progress, size: int) -> Iterator[bytes]:
    start = file.read(_MAGIC_BYTES)
    make = _unpacker(start)
    if make is not None:
        yield from _unpacked(file, start, make, damage, progress, size)
        return
    while block := start + file.read(max(1, size - len(start))):
        start = b""
        progress(len(block))
        yield block


def _unpacked(
    file: IO[bytes],
    packed: bytes,
    make: Callable[[], Any],
    damage: Damage,
    progress: Progress,
    size: int,
) -> Iterator[bytes]:
    """Unpack one or more streams that follow each other in `file`; what follows the last one is not looked at."""
    unpacker = make()
    pending = bytearray()
    try:
        while True:
            if unpacker.eof:
                rest = unpacker.unused_data.lstrip(b"\0") + packed
                packed = rest or file.read(_PACKED_BLOCK)
                if not packed or not any(packed.startswith(magic[: len(packed)]) for magic in _UNPACKERS):
                    break
                unpacker = make()
            elif unpacker.needs_input and not packed:
                packed = file.read(_PACKED_BLOCK)
                progress(len(packed))
                if not packed:
                    damage.messages.append("the compressed data ends early")
                    break
            pending += unpacker.decompress(packed, min(size - len(pending), _PACKED_BLOCK))
            packed = b""
            if len(pending) >= size:
                yield bytes(pending)
                pending.clear()
    except (zlib.error, OSError, EOFError, lzma.LZMAError) as error:
        damage.messages.append(f"the compressed data is damaged ({error})")
    if pending:
        yield bytes(pending)
