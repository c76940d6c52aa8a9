"""Recognise flows from launches to device work by their text, before parsing.

Two of five events are such flows. They need not be parsed, since correlation ids hold the same information. A trace
writes all of them alike: the phase first, the category at a fixed distance from the start or the end. A few are
analysed, the others compared with them at these places, eight bytes at a time. Flows written otherwise are parsed.
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
#: Most shapes per trace: a trace writes flows in two or three ways, one for ends and others for starts.
_MOST_SHAPES: Final = 8
#: Most segments of a block analysed one by one.
_TRIES: Final = 4

#: (offset, eight bytes) from the segment's start, and from its closing brace.
_Shape = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]


class LaunchFlowFinder:
    """Finds the launch flows of one trace, learning how the trace writes them."""

    def __init__(self) -> None:
        self._shapes: list[_Shape] = []

    def find(
        self, text: memoryview, start: NDArray[np.int64], close: NDArray[np.int64], flat: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Whether each segment certainly is a launch flow, bool[n].

        Args:
            text: The text of the segments.
            start: int64[n], position of each segment's `{`.
            close: int64[n], position of its closing `}`.
            flat: bool[n], whether a segment has no `{` beside its first one.
        """
        found = np.zeros(start.size, dtype=np.bool_)
        left = np.flatnonzero(flat & (close - start >= 4 * WORD))
        for shape in self._shapes:
            left = _mark(text, start, close, left, shape, found)
        for _ in range(_TRIES):
            if not left.size or len(self._shapes) == _MOST_SHAPES:
                break
            index = left[left.size // 2]
            shapes = _shapes(bytes(text[start[index] : close[index]]))
            for shape in shapes:
                rest = _mark(text, start, close, left, shape, found)
                if rest.size < left.size - 1:
                    self._shapes.append(shape)
                left = rest
            left = left[left != index]
        return found


def _mark(
    text: memoryview,
    start: NDArray[np.int64],
    close: NDArray[np.int64],
    left: NDArray[np.int64],
    shape: _Shape,
    found: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Mark the segments in `left` that match a shape; returns the others."""
    raw = np.frombuffer(text, np.uint8)
    same = left
    for anchor, places in zip((start, close), shape, strict=True):
        for offset, word in places:
            same = same.compress(words_at(raw, anchor.take(same) + offset) == np.uint64(word))
    found[same] = True
    return left[~found[left]]


def _shapes(segment: bytes) -> list[_Shape]:
    """Shapes of a flow, with its category's distance from the end or from the start; empty if it is no flow."""
    phase = _PHASE.match(segment)
    category = _CATEGORY.search(segment)
    if phase is None or category is None or category.end() < WORD or b'"dur"' in segment:
        return []
    head = _words(segment, 0, phase.end())
    tail = _words(segment, category.start(), category.end())
    return [(head, tuple((offset - len(segment), word) for offset, word in tail)), ((*head, *tail), ())]


def _words(segment: bytes, start: int, stop: int) -> tuple[tuple[int, int], ...]:
    """Offsets and values of 8-byte words that cover a range."""
    offsets = [*range(start, stop - WORD, WORD), stop - WORD]
    return tuple((offset, int.from_bytes(segment[offset : offset + WORD], "little")) for offset in offsets)
