"""Slices of text in several buffers, passed to Arrow without copying.

Arrow's string views are 16 bytes each: the length, then up to 12 bytes of text, or 4 of them and where the rest is.
(https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa

from stepscope.readers.kineto.words import words_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VIEW: Final = np.dtype([("length", "<i4"), ("prefix", "<u4"), ("buffer", "<i4"), ("offset", "<i4")])
#: Arrow keeps texts up to this length inside the view itself.
_INLINE: Final = 12

#: Buffers of texts.
Buffer: TypeAlias = "memoryview | bytes | pa.Buffer"


@dataclass(frozen=True)
class Slices:
    """One text per row, or none.

    Attributes:
        buffers: The buffers of the texts.
        buffer: int32[n], index of the buffer.
        start: int32[n], offset in it in bytes.
        length: int32[n], in bytes; -1 for none.
    """

    buffers: tuple[Buffer, ...]
    buffer: NDArray[np.int32]
    start: NDArray[np.int32]
    length: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Slices:
        """Some of the rows, by position or by a mask."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        return Slices(self.buffers, self.buffer.take(rows), self.start.take(rows), self.length.take(rows))

    def or_else(self, other: Slices) -> Slices:
        """These rows, with missing texts taken from the same rows of `other`."""
        other_buffer = other.buffer + np.int32(len(self.buffers))
        none = self.length < 0
        return Slices(
            (*self.buffers, *other.buffers),
            np.where(none, other_buffer, self.buffer),
            np.where(none, other.start, self.start),
            np.where(none, other.length, self.length),
        )

    @cached_property
    def array(self) -> pa.Array:
        """The texts as Arrow views over the same memory."""
        views = np.zeros(len(self), dtype=_VIEW)
        views["length"], views["buffer"], views["offset"] = np.maximum(self.length, 0), self.buffer, self.start
        known, short = self.length >= 0, self.length <= _INLINE
        for number, buffer in enumerate(self.buffers):
            raw = np.frombuffer(buffer, dtype=np.uint8)
            mine = self.buffer == number
            far = np.flatnonzero(mine & ~short)
            views["prefix"][far] = words_at(raw, self.start.take(far)).astype(np.uint32)
            _write_inline(views, np.flatnonzero(mine & short & known), raw, self.start, self.length)
        validity = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
        buffers = [validity, pa.py_buffer(views), *map(pa.py_buffer, self.buffers)]
        return pa.Array.from_buffers(pa.string_view(), len(self), buffers)


def _write_inline(
    views: NDArray[np.void],
    rows: NDArray[np.intp],
    raw: NDArray[np.uint8],
    start: NDArray[np.int32],
    length: NDArray[np.int32],
) -> None:
    if not rows.size:
        return
    if not raw.size:
        raw = np.zeros(1, np.uint8)
    place = np.arange(_INLINE)
    inside = place < length[rows][:, None]
    texts = np.where(inside, raw[np.where(inside, start[rows][:, None] + place, 0)], 0).astype(np.uint8)
    views.view(np.uint8).reshape(-1, _VIEW.itemsize)[rows, _VIEW.itemsize - _INLINE :] = texts


def string_slices(strings: pa.Array) -> Slices:
    """The texts of an Arrow string array, none where it is null."""
    _, offsets, data = strings.buffers()
    ends = np.frombuffer(offsets, np.int32, len(strings) + 1, strings.offset * np.dtype(np.int32).itemsize)
    length = np.diff(ends)
    if strings.null_count:
        length[strings.is_null().to_numpy(zero_copy_only=False)] = -1
    return Slices((data or b"",), np.zeros(len(strings), np.int32), ends[:-1], length)
