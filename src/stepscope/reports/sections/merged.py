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
_TO: Final = " to "


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
    columns = [*zip(*([*_NUMBER.finditer(one)] for one in sentences), strict=True)]
    parts, after, at = list[str](), 0, 0
    while at < len(columns):
        column, following = columns[at], columns[at + 1 : at + 2]
        found = column[0]
        parts.append(first[after : found.start()])
        if following and first[found.end() : following[0][0].start()] == _TO:
            parts.append(_span(column, following[0]))
            at += 1
        else:
            parts.append(_range(column, first[: found.start()]))
        after = columns[at][0].end()
        at += 1
    return "".join([*parts, first[after:]])


def _span(lows: Sequence[re.Match[str]], highs: Sequence[re.Match[str]]) -> str:
    """From the least to the most of ranges, whose lower ends may have the unit of the upper ones."""
    units = [low.group(2) or high.group(2) or "" for low, high in zip(lows, highs, strict=True)]
    numbers = [low.group(1) for low in lows]
    ends = zip(numbers, units, strict=True)
    low, unit = min(ends, key=lambda end: float(end[0].replace(",", "")) * _FACTORS.get(end[1], 1))
    high = max(highs, key=_value)
    return f"{low}{_TO if unit == (high.group(2) or '') else f' {unit}{_TO}'}{high.group()}"


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
    return f"{low}{_TO}{high}"


def _value(found: re.Match[str]) -> float:
    number = float(found.group(1).replace(",", ""))
    return number * _FACTORS[found.group(2)] if found.group(2) else number


def _kind(unit: str | None) -> str:
    return "" if unit is None else "time" if unit in _TIMES else "size"
