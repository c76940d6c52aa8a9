"""Recover the blocks after damage in an `.xz` file, through the index at its end.

By default `xz` makes blocks of 24 MiB of content.
(The .xz file format 1.2.1, 2.1, 3 and 4: https://tukaani.org/xz/xz-file-format.txt)
"""

from __future__ import annotations

import lzma
import os
import struct
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

from stepscope.language import said
from stepscope.model.amounts import quantity
from stepscope.readers.packing.damage import Damage
from stepscope.readers.packing.streams import one_stream, unpacked, window
from stepscope.readers.packing.unpackers import Careful

MAGIC: Final = b"\xfd7zXZ\x00"
#: Bytes of a stream's header and footer.
_EDGE: Final = 12
_FOOTER: Final = struct.Struct("<4x L 2x 2s")
#: Longest index accepted; that of a terabyte in usual blocks has some 300 kB.
_LONGEST_INDEX: Final = 64 << 20


class _Block(NamedTuple):
    """Range of a block in the file, and of its content in the whole."""

    place: int
    stop: int
    start: int
    end: int


def xz_content(file: IO[bytes], packed: bytes, damage: Damage) -> Iterator[bytes]:
    """The content of an `.xz` file: all of intact blocks, and damaged ones as far as possible.

    Args:
        file: A seekable file.
        packed: Packed bytes read already, from the start on.
        damage: Receives damage, and the number of missing bytes.
    """
    first, done, missing = Damage(), 0, 0
    for part in unpacked(file.read, packed, first):
        done += len(part)
        yield part
    if first.whole:
        damage.messages += first.messages
        return
    blocks = _blocks(file)
    if not blocks or blocks[-1].start < done:
        damage.ends(first.messages[0])
        return
    for block in blocks:
        if block.start < done:
            continue
        missing += block.start - done
        done = block.start
        file.seek(0)
        head = file.read(_EDGE)
        file.seek(block.place)
        # Up to the index, which lists more blocks than were read here.
        for part in one_stream(
            window(file, blocks[-1].stop - block.place), head, Careful(lzma.LZMADecompressor(lzma.FORMAT_XZ)), Damage()
        ):
            done += len(part)
            yield part
    missing += blocks[-1].end - done
    damage.changes(
        said(
            "{messages}: {missing} of its content are missing",
            messages=first.messages[0],
            missing=quantity(missing, "bytes"),
        )
    )


def _blocks(file: IO[bytes]) -> list[_Block]:
    """The blocks of a file with one stream, from its index; none if that is damaged or missing."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _EDGE))
    footer = file.read(_EDGE)
    if len(footer) < _EDGE:
        return []
    words, magic = _FOOTER.unpack(footer)
    length = 4 * (words + 1)
    if magic != b"YZ" or length > min(size - 2 * _EDGE, _LONGEST_INDEX):
        return []
    file.seek(size - _EDGE - length)
    numbers = _numbers(file.read(length))
    if next(numbers, 1) != 0:
        return []
    found, place, start = [], _EDGE, 0
    for _ in range(next(numbers, 0)):
        packed, plain = next(numbers, 0), next(numbers, 0)
        if not packed or place + packed > size:
            return []
        stop = place + -(-packed // 4) * 4
        found.append(_Block(place, stop, start, start + plain))
        place, start = stop, start + plain
    return found if place == size - _EDGE - length else []


def _numbers(text: bytes) -> Iterator[int]:
    """Variable-length integers: seven bits per byte, lowest first, highest bit unset in the last byte."""
    value = shift = 0
    for byte in text:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
