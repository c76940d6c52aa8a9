"""The events of a chunk as numbered texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stepscope.readers.kineto.framing import Chunk
from stepscope.readers.kineto.mending import Mended
from stepscope.readers.kineto.slices import Slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Rows per batch, processed by one core.
_BATCH: Final = 4096


@dataclass(frozen=True, slots=True)
class Texts:
    """Events, or candidates for events, of one chunk.

    Attributes:
        ids: int64[n], ascending.
        text: Text of each event.
        args: Arguments of each event; none if they have to be found by parsing.
        flat: bool[n], as in `Segments`.
        flow: bool[n], as in `Segments`.
    """

    ids: NDArray[np.int64]
    text: Slices
    args: Slices
    flat: NDArray[np.bool_]
    flow: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    def numbered(self, first: int) -> Texts:
        """With ids that start at `first` where they start at 0."""
        return replace(self, ids=self.ids + first)

    def lay_out(self) -> None:
        """Prepare the arrays that `table` needs, shared with `numbered` copies."""
        _ = self.text.array, self.args.array

    def positions(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of events with these ids, which must exist."""
        return np.searchsorted(self.ids, ids)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Texts:
        """Some of the rows, by position or by a mask."""
        return Texts(self.ids[rows], self.text.take(rows), self.args.take(rows), self.flat[rows], self.flow[rows])

    def table(self) -> pa.Table:
        """Columns `i`, `text`, `args`, `flat` and `flow`, in batches so that all cores can take part."""
        whole = pa.record_batch(
            {
                "i": self.ids,
                "text": self.text.array,
                "args": self.args.array,
                "flat": pa.array(self.flat),
                "flow": pa.array(self.flow),
            }
        )
        batches = [whole.slice(row, _BATCH) for row in range(0, len(self), _BATCH)]
        return pa.Table.from_batches(batches, whole.schema)


def chunk_texts(chunk: Chunk) -> Texts:
    """The segments of a chunk, numbered from 0 on."""
    parts = chunk.parts
    buffers = tuple(part.text for part in parts)
    buffer = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
    start = np.concatenate([part.offsets[:-1] for part in parts])
    length = np.concatenate([np.diff(part.offsets) for part in parts])
    args_start = np.concatenate([part.args_start for part in parts])
    args_length = np.concatenate([part.args_length for part in parts])
    return Texts(
        np.arange(len(buffer)),
        Slices(buffers, buffer, start, length),
        Slices(buffers, buffer, args_start, np.where(args_length > 0, args_length, -1).astype(np.int32)),
        np.concatenate([part.flat for part in parts]),
        np.concatenate([part.flow for part in parts]),
    )


def mended_texts(segments: Texts, mended: Mended) -> Texts:
    """The segments of a chunk with what is used instead of some of them."""
    ids = segments.ids.copy()
    for start, surplus in mended.shifts:
        ids[start:] += surplus
    kept = np.ones(len(segments), np.bool_)
    kept[mended.excluded] = False
    ids = np.concatenate([ids[kept], np.array(mended.ids, np.int64)])
    order = np.argsort(ids, kind="stable")
    no = np.zeros(len(mended.ids), np.bool_)
    return Texts(
        ids[order],
        _with(segments.text.take(kept), mended.texts).take(order),
        _with(segments.args.take(kept), [None] * len(mended.ids)).take(order),
        np.append(segments.flat[kept], no)[order],
        np.append(segments.flow[kept], no)[order],
    )


def _with(slices: Slices, more: Sequence[bytes | None]) -> Slices:
    """Texts with further ones behind them."""
    length = np.array([-1 if text is None else len(text) for text in more], np.int32)
    start = np.concatenate([[0], np.cumsum(np.maximum(length, 0))]).astype(np.int32)[: len(more)]
    return Slices(
        (*slices.buffers, b"".join(text for text in more if text is not None)),
        np.append(slices.buffer, np.full(len(more), len(slices.buffers), np.int32)),
        np.append(slices.start, start),
        np.append(slices.length, length),
    )
