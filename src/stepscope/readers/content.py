"""Read the content of an input, unpacking it where needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, cast

from stepscope.language import said
from stepscope.model.amounts import quantity
from stepscope.model.errors import UnusableInputError
from stepscope.model.sizes import SIZES
from stepscope.readers.packing.damage import Damage
from stepscope.readers.packing.encodings import encoding_of, to_utf8
from stepscope.readers.packing.members import member_content
from stepscope.readers.packing.streams import unpacked
from stepscope.readers.packing.unpackers import MAGIC_BYTES, unpacker_of
from stepscope.readers.packing.xzblocks import MAGIC as XZ
from stepscope.readers.packing.xzblocks import xz_content
from stepscope.readers.packing.zips import archive_of
from stepscope.readers.protocol import Progress, Source

__all__ = ["BLOCK_BYTES", "CHUNK_BYTES", "Damage", "ReadInto", "blocks", "content", "from_blocks", "head", "members",
           "on_disk"]  # fmt: skip

#: Reads the next bytes into a buffer; returns their number, 0 at the end.
ReadInto = Callable[[memoryview], int]

BLOCK_BYTES: Final = 8 << 20
#: Bytes decoded at a time. Framing works on smaller blocks, which stay in the CPU's cache.
CHUNK_BYTES: Final = 16 << 20
#: Bytes that `head` gives unless told otherwise.
HEAD_BYTES: Final = 1 << 16


def head(source: Source, size: int = HEAD_BYTES, *, blanks: bool = True, damage: Damage | None = None) -> bytes:
    """The first `size` bytes of the content; fewer at its end or at damage.

    Args:
        source: The input.
        size: Number of bytes.
        damage: Receives damage of the packing.
        blanks: Whether to keep white space before JSON.

    Raises:
        OSError: The file can't be read.
    """
    collected = b""
    for block in blocks(source, damage or Damage(), lambda _: None, block_size=size):
        collected += block
        if not blanks and (not (rest := collected.lstrip()) or rest.startswith((b"{", b"["))):
            collected = rest
        if len(collected) >= size:
            break
    return collected[:size]


def members(path: Path) -> list[str]:
    """Names of the files in a zip archive; empty if the file is no archive.

    Raises:
        OSError: The file can't be read.
        UserError: It is a zip bomb.
    """
    archive = archive_of(path)
    return [] if archive is None else list(archive.members)


def blocks(source: Source, damage: Damage, progress: Progress, block_size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The content in blocks of at most `block_size` bytes, as far as it can be unpacked.

    Damage, a truncated end or `SIZES.unpacked_limit` ends the blocks early, reported in `damage`.

    Raises:
        OSError: The file can't be opened.
    """
    with source.path.open("rb") as opened:
        file = _Counted(opened, progress)
        if source.member:
            archive = archive_of(source.path)
            found = None if archive is None else archive.members.get(source.member)
            if archive is None or found is None:
                damage.ends("the archive has changed")
                return
            if archive.damage:
                damage.changes(archive.damage)
            inner = member_content(cast("IO[bytes]", file), found, damage)
            packed = found.method != 0
        else:
            inner, packed = iter(lambda: file.read(min(block_size, BLOCK_BYTES)), b""), False
        start = b""
        while len(start) < MAGIC_BYTES and (more := next(inner, b"")):
            start += more
        if unpacker_of(start) is not None:
            seekable = not source.member and start.startswith(XZ)
            opened_ = cast("IO[bytes]", file)
            inner = xz_content(opened_, start, damage) if seekable else unpacked(_reading(inner), start, damage)
            start, packed = next(inner, b""), True
        inner = chain((start,), inner)
        if encoding := encoding_of(start):
            inner = to_utf8(inner, encoding, damage)
        yield from _sized(_bounded(inner, file, damage) if packed else inner, block_size)


@contextmanager
def content(source: Source, damage: Damage, progress: Progress, block_size: int = BLOCK_BYTES) -> Iterator[ReadInto]:
    """The content as readers into buffers, without a copy where nothing has to be unpacked.

    Raises:
        OSError: The file can't be opened.
    """
    with source.path.open("rb") as file:
        start = b"" if source.member else file.read(MAGIC_BYTES)
        if source.member or unpacker_of(start) is not None or encoding_of(start):
            yield from_blocks(blocks(source, damage, progress, block_size))
            return
        file.seek(0)

        def read(target: memoryview) -> int:
            size = file.readinto(target)
            progress(size)
            return size

        yield read


def on_disk(source: Source, target: Path, damage: Damage) -> Path:
    """A path to the unpacked content, for libraries that open files: the input itself, or a copy at `target`.

    Raises:
        OSError: It can't be read or written.
        UnusableInputError: It is larger than `SIZES.unpacked_limit`.
    """
    with source.path.open("rb") as file:
        if not source.member and unpacker_of(file.read(MAGIC_BYTES)) is None:
            return source.path
    with target.open("wb") as out:
        for block in blocks(source, damage, lambda _: None):
            out.write(block)
    if damage.refused:
        target.unlink()
        raise UnusableInputError(
            said("{source} can't be used: {messages}", source=source, messages=damage.messages[-1]),
            hint="unpack it, and give what is in it",
        )
    return target


def from_blocks(blocks: Iterable[bytes]) -> ReadInto:
    """A reader from blocks in memory."""
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


class _Counted:
    """A file that counts the bytes read."""

    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self._file = file
        self._progress = progress
        self.total = 0

    def read(self, size: int) -> bytes:
        block = self._file.read(size)
        self.total += len(block)
        self._progress(len(block))
        return block

    def seek(self, *args: Any) -> int:
        return self._file.seek(*args)


def _reading(blocks: Iterator[bytes]) -> Callable[[int], bytes]:
    return lambda _: next(blocks, b"")


def _sized(parts: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in blocks of `size`; the last one may be shorter."""
    pending = bytearray()
    for part in parts:
        if not pending and len(part) == size:
            yield part
            continue
        pending += part
        while len(pending) >= size:
            yield bytes(pending[:size])
            del pending[:size]
    if pending:
        yield bytes(pending)


def _bounded(parts: Iterable[bytes], file: _Counted, damage: Damage) -> Iterator[bytes]:
    """The unpacked bytes, up to the limit."""
    total = 0
    for part in parts:
        total += len(part)
        if total > SIZES.unpacked_limit(file.total):
            damage.refused = True
            damage.ends(
                said(
                    "it unpacks to more than the limit of {unpacked_bytes} and {unpacked_times} times its size",
                    unpacked_bytes=quantity(SIZES.unpacked_bytes, "bytes"),
                    unpacked_times=SIZES.unpacked_times,
                )
            )
            return
        yield part
