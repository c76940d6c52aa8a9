"""Sentences that differ in numbers alone, as one sentence with their range."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

#: Factors of units, as amounts are written; those of one kind share the last letters.
_FACTORS: Final = {
    "ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9, "bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
_TIMES: Final = ("ns", "µs", "ms", "s")
_NUMBER: Final = re.compile(rf"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?: ({'|'.join(_FACTORS)})(?!\w))?(?![\w.]*\w)")
#: What stands before a bound: of several bounds the widest holds for all.
_MOST: Final = ("up to ", "at most ")
_LEAST: Final = ("at least ",)


def shape(sentence: str) -> str:
    """The sentence without its numbers: equal for sentences that can be put together."""
    return _NUMBER.sub(lambda found: f"#{_kind(found.group(2))}", sentence)


def together(sentences: Sequence[str]) -> str:
    """One sentence for those of one shape: numbers that differ become their range, bounds the widest.

    Raises:
        ValueError: They are of different shapes.
    """
    first = sentences[0]
    if len({shape(one) for one in sentences}) > 1:
        raise ValueError("sentences of different shapes can't be put together")
    if all(one == first for one in sentences):
        return first
    columns = zip(*([*_NUMBER.finditer(one)] for one in sentences), strict=True)
    parts, after = list[str](), 0
    for column in columns:
        found = column[0]
        parts += [first[after : found.start()], _range(column, first[: found.start()])]
        after = found.end()
    return "".join([*parts, first[after:]])


def _range(column: Sequence[re.Match[str]], before: str) -> str:
    ordered = sorted(column, key=_value)
    low, high = ordered[0].group(), ordered[-1].group()
    if _value(ordered[0]) == _value(ordered[-1]):
        return column[0].group()
    if before.endswith(_MOST):
        return high
    if before.endswith(_LEAST):
        return low
    if ordered[0].group(2) == ordered[-1].group(2):
        low = ordered[0].group(1)
    return f"{low} to {high}"


def _value(found: re.Match[str]) -> float:
    number = float(found.group(1).replace(",", ""))
    return number * _FACTORS[found.group(2)] if found.group(2) else number


def _kind(unit: str | None) -> str:
    return "" if unit is None else "time" if unit in _TIMES else "size"
