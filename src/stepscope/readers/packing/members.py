"""Unpack one file of a zip archive, as far as possible."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Final

from stepscope.language import said
from stepscope.readers.packing.damage import Damage
from stepscope.readers.packing.streams import Read, one_stream, window
from stepscope.readers.packing.unpackers import Careful, Inflater, Unpacker
from stepscope.readers.packing.zips import LOCAL, MAGIC, Member

_STORED, _DEFLATED, _BZIP2, _LZMA = 0, 8, 12, 14
_BLOCK: Final = 1 << 20


def member_content(file: IO[bytes], member: Member, damage: Damage) -> Iterator[bytes]:
    """The content of a member, in blocks; with a wrong checksum it is kept and reported.

    Raises:
        OSError: The archive can't be read.
    """
    file.seek(member.header)
    start = file.read(LOCAL.size)
    if len(start) < LOCAL.size:
        damage.ends("the archive ends early")
        return
    if not start.startswith(MAGIC):
        damage.changes("the archive is damaged")
    *_, named, extra = LOCAL.unpack(start)
    file.seek(named + extra, 1)
    read = window(file, member.packed)
    checksum = 0
    for block in _unpacked(read, member, damage):
        checksum = zlib.crc32(block, checksum)
        yield block
    if damage.whole and member.checksum not in (None, checksum):
        damage.changes("the archive is damaged: its checksum is another one")


def _unpacked(read: Read, member: Member, damage: Damage) -> Iterator[bytes]:
    if member.encrypted:
        damage.ends("the archive is encrypted")
    elif member.method == _STORED:
        yield from _stored(read, member, damage)
    elif member.method == _LZMA:
        yield from _lzma(read, member, damage)
    elif member.method in (_DEFLATED, _BZIP2):
        deflated = member.method == _DEFLATED
        unpacker: Unpacker = Inflater(-15) if deflated else Careful(bz2.BZ2Decompressor())
        yield from one_stream(read, b"", unpacker, damage)
    else:
        damage.ends(said("the archive is packed in a way that is not read (method {method})", method=member.method))


def _stored(read: Read, member: Member, damage: Damage) -> Iterator[bytes]:
    total = 0
    while block := read(_BLOCK):
        total += len(block)
        yield block
    if member.size is None or total < member.size:
        damage.ends("the archive ends early")


def _lzma(read: Read, member: Member, damage: Damage) -> Iterator[bytes]:
    """Unpack LZMA data, whose header differs from that of `.lzma` files (APPNOTE.TXT 5.8.8)."""
    head = read(4)
    properties = read(struct.unpack("<2xH", head)[0]) if len(head) == 4 else b""
    if len(properties) != 5:
        damage.ends("the compressed data is damaged")
        return
    size = None if member.ended else member.size
    start = properties + struct.pack("<Q", 2**64 - 1 if size is None else size)
    yield from one_stream(read, start, Careful(lzma.LZMADecompressor(lzma.FORMAT_ALONE)), damage)
