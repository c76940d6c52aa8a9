"""Intern 64-bit keys as consecutive numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Interned:
    """Numbers keys from 0, in the order of addition."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.uint64)
        self._numbers = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Number of each key, int64[n]; -1 for unknown keys."""
        if not len(self):
            return np.full(keys.size, -1, np.int64)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self) - 1)
        return np.where(self._keys.take(place) == keys, self._numbers.take(place), -1)

    def find_with_new(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number of each key as in `find`, and ascending positions of the first occurrence of each unknown key."""
        numbers = self.find(keys)
        unknown = np.flatnonzero(numbers < 0)
        if not unknown.size:
            return numbers, unknown
        _, first = np.unique(keys[unknown], return_index=True)
        return numbers, np.sort(unknown[first])

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Number keys, which must be distinct and unknown."""
        place = np.argsort(keys)
        numbers = np.arange(len(self), len(self) + keys.size)
        where = np.searchsorted(self._keys, keys[place])
        self._keys = np.insert(self._keys, where, keys[place])
        self._numbers = np.insert(self._numbers, where, numbers[place])
