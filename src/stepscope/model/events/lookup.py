"""Find values in an array of integer keys: events by id, calls by correlation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A direct lookup table replaces sorting if it has at most this many places per key and wanted value.
_DENSE: Final = 8


def match(keys: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Position of each wanted value in `keys`, -1 where there is none.

    Args:
        keys: int[n]; of equal ones the first counts.
        wanted: int[m].

    Returns:
        int64[m].
    """
    if not keys.size or not wanted.size:
        return np.full(wanted.size, -1, np.int64)
    least, most = int(keys.min()), int(keys.max())
    if most - least < _DENSE * (keys.size + wanted.size):
        return _by_number(keys, wanted, least, most)
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    at = np.minimum(np.searchsorted(ascending, wanted), keys.size - 1)
    return np.where(ascending[at] == wanted, order[at], -1)


def _by_number(keys: NDArray[Any], wanted: NDArray[Any], least: int, most: int) -> NDArray[np.int64]:
    """`match` through a direct lookup table over `least` to `most`; its last place stands for all other values."""
    position = np.full(most - least + 2, -1, np.int32)
    # Of equal keys the one written last stays.
    position[keys[::-1].astype(np.int64) - least] = np.arange(keys.size - 1, -1, -1, dtype=np.int32)
    # Differences may wrap around, but never to a number that stands for another value.
    place = wanted.astype(np.int64) - least
    place[(place < 0) | (place > most - least)] = most - least + 1
    return position[place].astype(np.int64)
