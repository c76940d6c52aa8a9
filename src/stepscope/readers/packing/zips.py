"""List zip archives by their directory, or by members' local headers where that is damaged.

The directory is read once per archive and members in place, so that archives of many small members are read in linear
time. (APPNOTE.TXT 6.3.10, 4.3: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.sizes import SIZES

MAGIC: Final = b"PK\x03\x04"
#: Local header: flags, method, checksum, packed and plain size, lengths of its name and of its extra fields.
LOCAL: Final = struct.Struct("<6x H H 4x L L L H H")
#: Directory entry: the same, with the length of a comment and the offset of the local header.
_ENTRY: Final = struct.Struct("<4s 4x H H 4x L L L H H H 8x L")
#: End of the directory: number of entries, bytes and offset.
_END: Final = struct.Struct("<4s 6x H L L 2x")
_END_64: Final = struct.Struct("<4s 28x Q Q Q")
_LOCATOR: Final = struct.Struct("<4s 4x Q 4x")
#: Data descriptor, after data of sizes unknown in advance.
_BEHIND: Final = struct.Struct("<4s L L L")
_MOST: Final = 0xFFFFFFFF
_ENCRYPTED, _ENDED, _STREAMED, _UTF8 = 1, 2, 8, 0x800
#: Longest comment after the end.
_TAIL: Final = (1 << 16) + _END.size + _LOCATOR.size
_LONGEST_NAME: Final = 1024
#: Compression methods: stored, deflate, deflate64, bzip2, lzma and others.
_METHODS: Final = frozenset((0, 8, 9, 12, 14, 93, 95, 98))


@dataclass(frozen=True, slots=True)
class Member:
    """One file in an archive.

    Attributes:
        name: As recorded.
        header: Offset of its local header.
        method: Compression method; 0 if stored.
        packed: Packed size in bytes, at most.
        size: Unpacked size in bytes; None if unknown.
        checksum: CRC-32 of the content; None if unknown.
        encrypted: Whether a password is needed.
        ended: Whether its packed data marks its own end (method 14).
    """

    name: str
    header: int
    method: int
    packed: int
    size: int | None
    checksum: int | None
    encrypted: bool
    ended: bool


@dataclass(frozen=True, slots=True)
class Archive:
    """The files in an archive, and the damage of its directory."""

    members: dict[str, Member]
    damage: str = ""


class _DirectoryError(Exception):
    """The directory is missing or unreadable."""


def archive_of(path: Path) -> Archive | None:
    """The files of an archive; None if the file is no archive.

    Raises:
        OSError: The file can't be read.
        UserError: It has more members than the limit, or overlapping ones.
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return None
        status = os.fstat(file.fileno())
    return _archive(path, status.st_size, status.st_mtime_ns, SIZES.archive_members)


@lru_cache(maxsize=8)
def _archive(path: Path, size: int, _changed: int, most: int) -> Archive:
    with path.open("rb") as file:
        try:
            members, damage = _listed(file, path, size, most), ""
        except (_DirectoryError, struct.error):
            members, damage = _found(file, path, size, most), "the archive's directory is missing or damaged"
    _check_apart(path, members)
    named: dict[str, Member] = {}
    for member in members:
        if not member.name.endswith("/") and member.size != 0:
            named[member.name if member.name not in named else f"{member.name}#{member.header}"] = member
    return Archive(named, damage)


def _refuse(path: Path, why: str) -> UserError:
    return UserError(said("{path} {why}", path=path, why=why), hint="unpack it, and give what is in it")


def _check_apart(path: Path, members: list[Member]) -> None:
    """Refuse archives with overlapping members, which are zip bombs."""
    end = 0
    for member in sorted(members, key=lambda one: one.header):
        if member.header < end:
            raise _refuse(path, "is an archive whose members overlap, which is made to exhaust who unpacks it")
        end = member.header + LOCAL.size + member.packed


def _listed(file: IO[bytes], path: Path, size: int, most: int) -> list[Member]:
    """The members in the directory."""
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    at = tail.rfind(b"PK\5\6")
    if at < 0:
        raise _DirectoryError
    _, number, length, start = _END.unpack_from(tail, at)
    end = size - len(tail) + at
    if at >= _LOCATOR.size and tail[at - _LOCATOR.size :][:4] == b"PK\6\7":
        _, place = _LOCATOR.unpack_from(tail, at - _LOCATOR.size)
        if place > size:
            raise _DirectoryError
        file.seek(place)
        magic, number, length, start = _END_64.unpack(file.read(_END_64.size))
        if magic != b"PK\6\6":
            raise _DirectoryError
        end = place
    if number > most:
        raise _refuse(path, said("has {number:,} members, more than the limit of {most:,}", number=number, most=most))
    # Data may precede the archive, which its offsets do not count.
    before = end - start - length
    if before < 0 or length > size:
        raise _DirectoryError
    file.seek(start + before)
    return list(_entries(file.read(length), number, before, size))


def _entries(text: bytes, number: int, before: int, size: int) -> Iterator[Member]:
    at = 0
    for _ in range(number):
        magic, flags, method, checksum, packed, plain, named, extra, comment, header = _ENTRY.unpack_from(text, at)
        if magic != b"PK\1\2":
            raise _DirectoryError
        at += _ENTRY.size
        name = text[at : at + named].decode("utf-8" if flags & _UTF8 else "cp437", "replace")
        plain, packed, header = _wide(text[at + named : at + named + extra], plain, packed, header)
        at += named + extra + comment
        if header + before > size:
            raise _DirectoryError
        yield Member(
            name, header + before, method, packed, plain, checksum, bool(flags & _ENCRYPTED), bool(flags & _ENDED)
        )


def _wide(extra: bytes, *values: int) -> list[int]:
    """Values, those beyond 32 bits taken from the Zip64 extra field."""
    found = list(values)
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            wide = iter(struct.iter_unpack("<Q", extra[at + 4 : at + 4 + length // 8 * 8]))
            return [next(wide, (value,))[0] if value == _MOST else value for value in found]
        at += 4 + length
    return found


def _behind(end: bytes, length: int) -> tuple[tuple[int | None, int | None], int]:
    """Size and checksum from the data descriptor after streamed data, and the packed size; else Nones and `length`."""
    if len(end) == _BEHIND.size:
        magic, checksum, packed, plain = _BEHIND.unpack(end)
        if magic == b"PK\7\x08" and packed == length - _BEHIND.size:
            return (plain, checksum), packed
    return (None, None), length


def _found(file: IO[bytes], path: Path, size: int, most: int) -> list[Member]:
    """The members by their local headers, for an archive that is truncated or whose directory is damaged."""
    import mmap

    members: list[Member] = []
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(MAGIC)
        while at >= 0 and at + LOCAL.size <= size:
            flags, method, checksum, packed, plain, named, extra = LOCAL.unpack_from(data, at)
            start = at + LOCAL.size + named + extra
            if named > _LONGEST_NAME or method not in _METHODS or start > size:
                at = data.find(MAGIC, at + 1)
                continue
            name = data[at + LOCAL.size : at + LOCAL.size + named].decode("utf-8", "replace")
            plain, packed = _wide(data[start - extra : start], plain, packed)
            streamed = bool(flags & _STREAMED) and not packed
            following = data.find(MAGIC, start if streamed else min(start + packed, size))
            sizes: tuple[int | None, int | None] = (plain, checksum)
            bytes_ = min(packed, size - start)
            if streamed:
                end = size if following < 0 else following
                sizes, bytes_ = _behind(data[max(start, end - _BEHIND.size) : end], end - start)
            members.append(
                Member(name, at, method, bytes_, *sizes, bool(flags & _ENCRYPTED), bool(flags & _ENDED)),
            )
            if len(members) > most:
                raise _refuse(path, said("has more members than the limit of {most:,}", most=most))
            at = following
    return members
