"""Texts as numbers: columns of known words as positions, a byte per row, and any strings numbered in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def code(column: str, words: Sequence[str]) -> str:
    """SQL for the position of a column's word in `words`; -1 for other words and for null.

    `list_position` gives null for what the list lacks (DuckDB 1.5 and 2.0), which NumPy columns can't hold.
    """
    return "(coalesce(list_position([{}], {}), 0) - 1)::TINYINT".format(
        ", ".join(f"'{word}'" for word in words), column
    )


def known_code(column: str, words: Sequence[str]) -> str:
    """SQL for the position of a column's word in `words`; other words and null become the last position."""
    return f"(coalesce(nullif({code(column, words[:-1])}, -1), {len(words) - 1}))::TINYINT"


def among(codes: NDArray[np.int8], words: Sequence[str], wanted: Sequence[str]) -> NDArray[np.bool_]:
    """Whether each code stands for one of the wanted words, bool[n]."""
    mine = np.zeros(codes.shape, np.bool_)
    for word in wanted:  # faster than a table for the few words that are ever wanted
        mine |= codes == words.index(word)
    return mine


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
