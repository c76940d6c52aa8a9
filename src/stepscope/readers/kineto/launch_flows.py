"""Flows from launches to device work, told by their text before anything is parsed.

They are two of five events of a trace and say what correlation ids say, too, so that they need not be parsed. One
trace writes all of them alike: their phase comes first, and their category lies at the same distance from the beginning
or the end. So a few of them are looked at, and all others are compared with those at these places, eight bytes at a
time. Flows that are written in other ways are left to whoever decodes the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.readers.kineto.words import WORD, words_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Categories of such flows.
LAUNCH_CATEGORIES: Final = ("ac2g", "async_cpu_to_gpu", "async_gpu", "async")

_PHASE: Final = re.compile(rb'\{\s*"ph"\s*:\s*"[stf]"')
_CATEGORY: Final = re.compile(b'"(?:' + "|".join(LAUNCH_CATEGORIES).encode() + b')"')
#: Traces have two or three ways to write a flow, that of ends and those of beginnings.
_MOST_SHAPES: Final = 8
#: Pieces of a block that are looked at one by one.
_TRIES: Final = 4

#: (offset, eight bytes) from the piece's beginning, and from its closing brace.
_Shape = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]


class LaunchFlowFinder:
    """Tells the launch flows of one trace; it learns how the trace writes them."""

    def __init__(self) -> None:
        self._shapes: list[_Shape] = []

    def find(
        self, text: memoryview, begin: NDArray[np.int64], close: NDArray[np.int64], flat: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """bool[n]: which of n pieces surely are launch flows.

        Args:
            text: The text of the pieces.
            begin: int64[n], position of each piece's `{`.
            close: int64[n], position of its closing `}`.
            flat: bool[n], whether nothing in a piece but its own beginning is a `{`.
        """
        found = np.zeros(begin.size, dtype=np.bool_)
        left = np.flatnonzero(flat & (close - begin >= 4 * WORD))
        for shape in self._shapes:
            left = _mark(text, begin, close, left, shape, found)
        for _ in range(_TRIES):
            if not left.size or len(self._shapes) == _MOST_SHAPES:
                break
            index = left[left.size // 2]
            shapes = _shapes(bytes(text[begin[index] : close[index]]))
            for shape in shapes:
                rest = _mark(text, begin, close, left, shape, found)
                if rest.size < left.size - 1:
                    self._shapes.append(shape)
                left = rest
            left = left[left != index]
        return found


def _mark(
    text: memoryview,
    begin: NDArray[np.int64],
    close: NDArray[np.int64],
    left: NDArray[np.int64],
    shape: _Shape,
    found: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Note which of the pieces in `left` are of one shape; returns the others."""
    raw = np.frombuffer(text, np.uint8)
    same = left
    for anchor, places in zip((begin, close), shape, strict=True):
        for offset, word in places:
            same = same.compress(words_at(raw, anchor.take(same) + offset) == np.uint64(word))
    found[same] = True
    return left[~found[left]]


def _shapes(piece: bytes) -> list[_Shape]:
    """How a piece is written, its category counted from its end or from its beginning; empty if it is no flow."""
    phase = _PHASE.match(piece)
    category = _CATEGORY.search(piece)
    if phase is None or category is None or category.end() < WORD or b'"dur"' in piece:
        return []
    head = _words(piece, 0, phase.end())
    tail = _words(piece, category.start(), category.end())
    return [(head, tuple((offset - len(piece), word) for offset, word in tail)), ((*head, *tail), ())]


def _words(piece: bytes, start: int, stop: int) -> tuple[tuple[int, int], ...]:
    """Offsets and values of the eight bytes at enough places to cover a stretch."""
    offsets = [*range(start, stop - WORD, WORD), stop - WORD]
    return tuple((offset, int.from_bytes(piece[offset : offset + WORD], "little")) for offset in offsets)
