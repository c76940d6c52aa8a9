"""Bytes of an input, whatever it is packed in."""

from __future__ import annotations

import bz2
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from stepscope.readers.protocol import Progress, Source

_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"
_BZIP2: Final = b"BZh"
_XZ: Final = b"\xfd7zXZ\x00"

#: Compressed bytes read at a time; what comes out of them may be ten times as much.
_PACKED_BLOCK: Final = 1 << 20


class Damage:
    """What was wrong with the packing of an input; empty if nothing was."""

    def __init__(self) -> None:
        self.messages: list[str] = []


def head(source: Source, size: int = 1 << 16) -> bytes:
    """The first `size` bytes of the content, fewer if there are not as many or the packing is broken."""
    collected = b""
    for block in blocks(source, Damage(), lambda _: None, block_size=size):
        collected += block
        if len(collected) >= size:
            break
    return collected[:size]


def archive_members(path: Path) -> list[str]:
    """Names of the files in a zip archive; empty if the file is no readable zip archive."""
    if not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as archive:
        return [info.filename for info in archive.infolist() if not info.is_dir() and info.file_size]


def blocks(source: Source, damage: Damage, progress: Progress, block_size: int = 8 << 20) -> Iterator[bytes]:
    """The content in blocks of at most about `block_size` bytes, as far as it can be unpacked.

    A broken or cut archive ends the blocks early; `damage` then says so.
    """
    with source.path.open("rb") as file:
        magic = file.read(6)
        file.seek(0)
        if source.member:
            yield from _zip_blocks(source, damage, progress, block_size)
        elif magic.startswith(_GZIP):
            # 31 = the largest window and a gzip header.
            yield from _unpacked(file, lambda: zlib.decompressobj(31), damage, progress, block_size)
        elif magic.startswith(_BZIP2):
            yield from _unpacked(file, bz2.BZ2Decompressor, damage, progress, block_size)
        elif magic.startswith(_XZ):
            yield from _unpacked(file, lzma.LZMADecompressor, damage, progress, block_size)
        else:
            while block := file.read(block_size):
                progress(len(block))
                yield block


def _unpacked(
    file: BinaryIO, make: Callable[[], object], damage: Damage, progress: Progress, block_size: int
) -> Iterator[bytes]:
    """Unpack one or more streams that follow each other in `file`."""
    unpacker = make()
    pending: list[bytes] = []
    size = 0
    try:
        while packed := file.read(_PACKED_BLOCK):
            progress(len(packed))
            while packed:
                data = unpacker.decompress(packed)  # type: ignore[attr-defined]
                pending.append(data)
                size += len(data)
                packed = b""
                if unpacker.eof:  # type: ignore[attr-defined]
                    packed = unpacker.unused_data.lstrip(b"\0")  # type: ignore[attr-defined]
                    unpacker = make()
                if size >= block_size:
                    yield b"".join(pending)
                    pending, size = [], 0
    except (zlib.error, OSError, lzma.LZMAError, EOFError) as error:
        damage.messages.append(f"the compressed data is damaged ({error})")
    else:
        started = unpacker is not None and not getattr(unpacker, "needs_input", True)
        if started:
            damage.messages.append("the compressed data ends early")
    if size:
        yield b"".join(pending)


def _zip_blocks(source: Source, damage: Damage, progress: Progress, block_size: int) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(source.path) as archive, archive.open(source.member) as member:
            ratio = archive.getinfo(source.member).compress_size / max(1, archive.getinfo(source.member).file_size)
            while block := member.read(block_size):
                progress(int(len(block) * ratio))
                yield block
    except (zipfile.BadZipFile, zlib.error, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        damage.messages.append(f"the archive is damaged ({error})")
