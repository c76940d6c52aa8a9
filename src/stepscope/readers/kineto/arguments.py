"""Locate the arguments of events in their text without parsing it.

An event of PyTorch ends with its arguments: `..., "args": {...}}`. If `{` occurs in it just twice, the second time
after `"args":`, and it ends with two `}`, then the arguments reach from one to the other, as written. They are stored
as views of the text. Events of another shape (one in ten; names of kernels may hold braces) go to the JSON parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.readers.kineto.words import WORD, words_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPACE: Final = np.zeros(256, dtype=bool)
_SPACE[list(b" \t\r\n")] = True
#: Most bytes of white space skipped; events with more go to the parser.
_STEPS: Final = 64
_KEY: Final = b'"args"'
#: The key as the last bytes of a word.
_KEY_WORD: Final = np.uint64(int.from_bytes(_KEY, "little"))
_BITS_BEFORE_KEY: Final = np.uint64(8 * (WORD - len(_KEY)))
#: Shortest arguments handled here; empty ones, written in several ways, go to the parser.
_SHORT: Final = 12


def argument_slices(
    raw: NDArray[np.uint8], braces: NDArray[np.int64], first: NDArray[np.int64], close: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Start and length of the arguments of consecutive events; length 0 where they must be parsed.

    Args:
        raw: uint8[n], the text.
        braces: Positions of all `{`, ascending.
        first: int64[m + 1], index in `braces` of the `{` of each of m events, and of what follows them.
        close: int64[m], position of each event's own `}`.
    """
    start = np.zeros(close.size, dtype=np.int32)
    length = np.zeros(close.size, dtype=np.int32)
    chosen = np.flatnonzero(np.diff(first) == 2)
    inner = braces[first[chosen] + 1]
    colon = _step_back(raw, inner - 1)
    key = _step_back(raw, colon - 1)
    end = _step_back(raw, close[chosen] - 1)
    good = (raw.take(colon) == ord(":")) & (raw.take(end) == ord("}")) & (key >= WORD) & (end - inner >= _SHORT)
    good &= words_at(raw, key - (WORD - 1)) >> _BITS_BEFORE_KEY == _KEY_WORD
    start[chosen[good]] = inner[good]
    length[chosen[good]] = (end - inner + 1)[good]
    return start, length


def _step_back(raw: NDArray[np.uint8], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """The last position at or before each place without white space, at least 0; gives up after a limited distance."""
    place = np.maximum(place, 0)
    moving = np.flatnonzero(_SPACE.take(raw.take(place)) & (place > 0))
    for _ in range(_STEPS):
        if not moving.size:
            break
        before = place.take(moving) - 1
        place[moving] = before
        moving = moving.compress(_SPACE.take(raw.take(before)) & (before > 0))
    return place
