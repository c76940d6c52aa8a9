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
    def of(cls, values: NDArray[Any] | pa.ChunkedArray) -> Codes:
        """The codes of n strings, as DuckDB or Arrow returns them; null counts as the empty string."""
        if isinstance(values, pa.ChunkedArray):
            encoded = values.fill_null("").combine_chunks().dictionary_encode()
        else:
            encoded = pa.array(values, pa.string(), from_pandas=True).fill_null("").dictionary_encode()
        return cls.numbered(encoded.indices.to_numpy(), encoded.dictionary.to_pylist())

    @classmethod
    def numbered(cls, index: NDArray[Any], words: list[str]) -> Codes:
        """The codes of n strings that are given by their positions among words, of which some may be equal."""
        ordered = sorted(set(words))
        rank = {word: code for code, word in enumerate(ordered)}
        return cls(np.array([rank[word] for word in words], np.int64)[index], ordered)

    def at(self, rows: NDArray[np.int64]) -> list[str]:
        """The strings of the rows at these positions."""
        return [self.words[code] for code in self.code[rows].tolist()]


def nullable(values: NDArray[Any], unknown: NDArray[np.bool_]) -> list[Any]:
    """Values as a list with None where they are unknown."""
    return [None if hidden else value for value, hidden in zip(values.tolist(), unknown.tolist(), strict=True)]


def nonempty(words: Iterable[str]) -> list[str | None]:
    """Words as a list with None for the empty one."""
    return [word or None for word in words]
