"""Find the boundaries between events.

A trace has the same few bytes between all of its events: they are searched byte by byte until known, and then compared
eight bytes at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from stepscope.readers.kineto.words import WORD, words_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SEPARATOR: Final = np.zeros(256, dtype=bool)
_SEPARATOR[list(b" \t\r\n,")] = True
#: Most bytes between two events searched one by one; few traces have as many.
_STEPS: Final = 64
#: Most distinct separators per trace.
_MOST_KNOWN: Final = 4


class _Known(NamedTuple):
    """The bytes before the `{` of an event, as the last bytes of a word: `}` and a separator."""

    mask: int
    word: int
    length: int
    comma: int


class Boundaries:
    """Finds the boundaries between the events of one trace, learning its separators."""

    def __init__(self) -> None:
        self._known: list[_Known] = []

    def find(self, raw: NDArray[np.uint8], braces: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find each `{` that follows `}` with only a comma and white space between; blanks the commas.

        Args:
            raw: uint8[n], the text; a tab is written over each comma.
            braces: Positions of all `{` except one at the very start, ascending.

        Returns:
            Their indices in `braces`, and the position of the `}` before each.
        """
        close = np.full(braces.size, -1, np.int64)
        self._compare(raw, braces, close)
        # The comma may be missing.
        before = raw.take(braces - 1)
        left = np.flatnonzero((close < 0) & (_SEPARATOR[before] | (before == ord("}"))))
        close[left] = _step_back(raw, braces[left] - 1)
        self._learn(raw, braces[left], close[left])
        ordinal = np.flatnonzero(close >= 0)
        return ordinal, close[ordinal]

    def _compare(self, raw: NDArray[np.uint8], braces: NDArray[np.int64], close: NDArray[np.int64]) -> None:
        if not self._known:
            return
        word = words_at(raw, braces - WORD)
        word[braces < WORD] = 0
        for known in self._known:
            found = np.flatnonzero((word & np.uint64(known.mask)) == np.uint64(known.word))
            close[found] = braces[found] - known.length
            if known.comma:
                raw[close[found] + known.comma] = ord("\t")

    def _learn(self, raw: NDArray[np.uint8], braces: NDArray[np.int64], close: NDArray[np.int64]) -> None:
        """Learn the separator at the middle one of the boundaries that had to be searched, whose commas are blanked."""
        middle = np.flatnonzero(close >= 0)[1:-1]
        if len(self._known) == _MOST_KNOWN or not middle.size:
            return
        index = middle[middle.size // 2]
        text = bytes(raw[close[index] : braces[index]]).replace(b"\t", b",", 1)
        if len(text) <= WORD:
            mask = ~0 << 8 * (WORD - len(text)) & ~(~0 << 8 * WORD)
            word = int.from_bytes(text.rjust(WORD, b"\0"), "little")
            self._known.append(_Known(mask, word, len(text), max(0, text.find(b","))))


def _step_back(raw: NDArray[np.uint8], before: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of the `}` followed only by a comma and white space up to each place; -1 if there is none.

    Blanks the first comma.
    """
    before = before.copy()
    comma = np.full(before.size, -1, dtype=np.int64)
    moving = np.arange(before.size)
    for _ in range(_STEPS):
        if not moving.size:
            break
        place = before[moving]
        byte = raw[place]
        comma[moving[byte == ord(",")]] = place[byte == ord(",")]
        moving = moving[_SEPARATOR[byte] & (place > 0)]
        before[moving] -= 1
    if moving.size:
        # Much white space: search the whole text once instead of this place byte by byte.
        others = np.flatnonzero(~_SEPARATOR[raw])
        ends = before[moving]
        at = np.searchsorted(others, ends, side="right") - 1
        before[moving] = np.where(at >= 0, others[at] if others.size else 0, 0)
        commas = np.flatnonzero(raw == ord(","))
        first = np.searchsorted(commas, before[moving])
        between = np.append(commas, raw.size)[first]
        comma[moving] = np.where(between <= ends, between, comma[moving])
        # What is left of it would have to be mended; this often, that takes long.
        for start, end in zip(before[moving].tolist(), ends.tolist(), strict=True):
            if raw[start] == ord("}"):
                raw[start + 1 : end + 1] = ord(" ")
    closed = raw[before] == ord("}")
    commas = comma[closed]
    raw[commas[commas >= 0]] = ord("\t")
    return np.where(closed, before, -1)
