"""Values as numbers from 0, so that NumPy can group by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Codes:
    """A column of strings by number; numbers are ordered as the strings are.

    Attributes:
        code: int64[n].
        words: The strings, ascending.
    """

    code: NDArray[np.int64]
    words: list[str]

    @classmethod
    def of(cls, values: NDArray[Any]) -> Codes:
        """The codes of n strings, as DuckDB returns them; null counts as the empty string."""
        encoded = pa.array(values, pa.string(), from_pandas=True).fill_null("").dictionary_encode()
        words = encoded.dictionary.to_pylist()
        order = sorted(range(len(words)), key=words.__getitem__)
        rank = np.empty(len(words), np.int64)
        rank[order] = np.arange(len(words))
        return cls(rank[encoded.indices.to_numpy()], [words[i] for i in order])

    def at(self, rows: NDArray[np.int64]) -> list[str]:
        """The strings of the rows at these positions."""
        return [self.words[code] for code in self.code[rows].tolist()]


def nullable(values: NDArray[Any], unknown: NDArray[np.bool_]) -> list[Any]:
    """Values as a list with None where they are unknown."""
    return [None if hidden else value for value, hidden in zip(values.tolist(), unknown.tolist(), strict=True)]


def nonempty(words: Iterable[str]) -> list[str | None]:
    """Words as a list with None for the empty one."""
    return [word or None for word in words]
