"""Decode rows in the pages of a table by columns, vectorised (SQLite's file format, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.readers.sqlite.pages import Bytes, Leaves, UnreadableError

Int = NDArray[np.int64]

_LEAF: Final = 13
_NULL, _REAL, _ZERO, _ONE, _BLOB, _TEXT = 0, 7, 8, 9, 12, 13
#: Bytes of a value by one-byte serial type; 10 and 11 never occur.
_NEVER: Final = 1 << 20
_SIZES: Final = np.array(
    [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, _NEVER, _NEVER, *[(kind - _BLOB) >> 1 for kind in range(_BLOB, 128)]], np.int64
)
#: Longest varint in bytes.
_LONGEST: Final = 9


@dataclass(frozen=True, slots=True)
class Values:
    """A column of n rows, int64[n] each.

    Attributes:
        kind: Serial types.
        at: Offsets of the values in the pages' bytes.
    """

    kind: Int
    at: Int


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows of some pages.

    Attributes:
        data: The pages' bytes.
        rowid: int64[n], ascending.
        columns: The values asked for, by position of the column in the table.
    """

    data: Bytes
    rowid: Int
    columns: dict[int, Values]

    @classmethod
    def of(cls, leaves: Leaves, wanted: list[int]) -> Cells:
        """Decode the columns at the positions `wanted`, which ascend.

        Raises:
            UnreadableError: The pages hold something else, or a row extends beyond its page.
        """
        data = leaves.data
        cell, page = _cells(leaves)
        payload, at = _varint(data, cell)
        rowid, at = _varint(data, at)
        # Longer rows continue on overflow pages.
        if payload.size and int(payload.max()) > leaves.usable - 35:
            raise UnreadableError("long rows")
        end = at + payload
        header, here = _varint(data, at)
        body = at + header
        limit = body
        if (end > (page + 1) * leaves.size).any() or (body > end).any() or (np.diff(rowid) <= 0).any():
            raise UnreadableError("its rows")
        columns: dict[int, Values] = {}
        for position in range((wanted[-1] if wanted else -1) + 1):
            inside = here < limit
            kind, after = _varint(data, here)
            if not inside.all():
                # Rows written before the column was added.
                kind, after = np.where(inside, kind, _NULL), np.where(inside, after, here)
            if position in wanted:
                columns[position] = Values(kind, body)
            body = body + _size(kind, leaves.size)
            here = after
        if (here > limit).any() or (body > end).any():
            raise UnreadableError("its rows")
        return cls(data, rowid, columns)

    def integers(self, position: int, is_rowid: bool = False) -> pa.Array:
        """A column of integers; if `is_rowid`, nulls stand for the row's number.

        Raises:
            UnreadableError: It holds other values, too.
        """
        values = self.columns[position]
        numbers, null = self._numbers(values, values.kind <= 6)
        if is_rowid:
            return pa.array(np.where(null, self.rowid, numbers))
        return pa.array(numbers, mask=null) if null.any() else pa.array(numbers)

    def reals(self, position: int) -> pa.Array:
        """A column of floating-point numbers, some of which may be stored as integers.

        Raises:
            UnreadableError: It holds other values, too.
        """
        values = self.columns[position]
        is_real = values.kind == _REAL
        numbers, null = self._numbers(values, (values.kind <= 6) | is_real)
        reals = self._words(">f8")[values.at].astype(np.float64)
        found = np.where(is_real, reals, numbers.astype(np.float64))
        return pa.array(found, mask=null | np.isnan(found))

    def bytes(self, position: int, *, text: bool) -> pa.Array:
        """A column of texts or blobs as Arrow binary.

        Raises:
            UnreadableError: It holds other values, too.
        """
        values = self.columns[position]
        null = values.kind == _NULL
        lowest = _TEXT if text else _BLOB
        if not (null | ((values.kind >= lowest) & ((values.kind & 1) == text))).all():
            raise UnreadableError("values of other types")
        size = np.where(null, 0, (values.kind - lowest) >> 1)
        order = np.argsort(values.at, kind="stable")
        # Values and the gaps between them form one Arrow array over the file's bytes.
        edges = np.empty(2 * order.size, np.int32)
        edges[::2] = values.at[order]
        edges[1::2] = (values.at + size)[order]
        if (np.diff(edges) < 0).any():
            raise UnreadableError("its rows")
        slices = pa.Array.from_buffers(
            pa.binary(), max(0, edges.size - 1), [None, pa.py_buffer(edges), pa.py_buffer(self.data)]
        )
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(0, 2 * order.size, 2)
        return slices.take(pa.array(place, mask=null))

    def _numbers(self, values: Values, admitted: NDArray[np.bool_]) -> tuple[Int, NDArray[np.bool_]]:
        """Integers, int64[n], and where they are null, bool[n]."""
        kind = values.kind
        constant = (kind == _ZERO) | (kind == _ONE)
        if not (admitted | constant).all():
            raise UnreadableError("values of other types")
        null = kind == _NULL
        # Big-endian integers of up to 8 bytes: load 8 bytes and shift right with sign extension.
        size = np.where(constant | null, 8, _SIZES[np.minimum(kind, _REAL)])
        numbers = self._words(">i8")[values.at].astype(np.int64) >> (64 - 8 * size)
        numbers[constant] = kind[constant] - _ZERO
        numbers[null] = 0
        return numbers, null

    def _words(self, kind: str) -> NDArray[np.generic]:
        """View of the 8-byte words at every byte offset."""
        words: NDArray[np.generic] = np.ndarray((self.data.size - 7,), kind, self.data.data, strides=(1,))
        return words


def count_cells(leaves: Leaves) -> int:
    """Number of rows in the pages' headers.

    Raises:
        UnreadableError: They are no leaf pages of tables.
    """
    return int(_counts(leaves).sum())


def _counts(leaves: Leaves) -> Int:
    starts = np.arange(0, leaves.data.size - 16, leaves.size)
    if (leaves.data[starts] != _LEAF).any():
        raise UnreadableError("its tree")
    counts: Int = leaves.data[starts + 3].astype(np.int64) << 8 | leaves.data[starts + 4]
    if counts.size and int(counts.max()) * 2 + 8 > leaves.size:
        raise UnreadableError("its pages")
    return counts


def _cells(leaves: Leaves) -> tuple[Int, Int]:
    """Offset of each row, and the number of its page."""
    counts = _counts(leaves)
    page = np.repeat(np.arange(counts.size), counts)
    nth = np.arange(page.size) - np.repeat(np.cumsum(counts) - counts, counts)
    pointer = page * leaves.size + 8 + 2 * nth
    offset = leaves.data[pointer].astype(np.int64) << 8 | leaves.data[pointer + 1]
    if (offset >= leaves.size).any():
        raise UnreadableError("its pages")
    return page * leaves.size + offset, page


def _varint(data: Bytes, at: Int) -> tuple[Int, Int]:
    """Varints at these offsets, and the offsets after them. Seven bits per byte, eight in the ninth."""
    first = data.take(at, mode="clip").astype(np.int64)
    after = at + 1
    going = np.flatnonzero(first >= 128)
    if not going.size:
        return first, after
    value = first & 127
    for length in range(2, _LONGEST + 1):
        byte = data.take(at[going] + length - 1, mode="clip").astype(np.int64)
        last = length == _LONGEST
        value[going] = value[going] << (8 if last else 7) | (byte if last else byte & 127)
        after[going] += 1
        going = going[byte >= 128]
        if not going.size:
            break
    return value, after


def _size(kind: Int, limit: int) -> Int:
    """Bytes of values by serial type, at most `limit`."""
    size = _SIZES.take(kind, mode="clip")
    long = np.flatnonzero(kind >= _SIZES.size)
    size[long] = (kind[long] - _BLOB) >> 1
    if size.size and (int(size.max()) > limit or int(kind.min()) < 0):
        raise UnreadableError("its rows")
    return size
