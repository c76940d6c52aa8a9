"""Amounts with units as people read them: `12.3 µs`, `1.23 GiB`, `45.6 %`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from stepscope.language import Said, said

TIME: Final = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
_BINARY: Final = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_DECIMAL: Final = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
#: Steps of each unit and what is written after the prefix.
SCALES: Final[dict[str, tuple[tuple[tuple[float, str], ...], str]]] = {
    "ns": (TIME, ""),
    "bytes": (_BINARY, ""),
    "bytes/s": (_DECIMAL, "B/s"),
    "FLOP": (_DECIMAL, "FLOP"),
    "FLOP/s": (_DECIMAL, "FLOP/s"),
}
NONE: Final = "–"


def duration(ns: float) -> str:
    """A time with three to four digits: `812 ns`, `12.3 µs`, `1.23 ms`."""
    return quantity(ns, "ns")


def quantity(value: float | None, unit: str) -> str:
    """A value in the largest unit that keeps it above 1, or a dash for null."""
    if value is None or not math.isfinite(value):
        return NONE
    steps, suffix = SCALES[unit]
    divisor, label = next(((d, s) for d, s in steps if abs(value) >= d), steps[-1])
    scaled = value / divisor
    decimals = 0 if divisor == 1 or abs(scaled) >= 99.95 else 1 if abs(scaled) >= 9.995 else 2
    return f"{scaled:,.{decimals}f} {label}{suffix}".rstrip()


def percent(fraction: float | None, decimals: int = 1) -> str:
    """A share: `12.3 %`, or a dash for null."""
    if fraction is None or not math.isfinite(fraction):
        return NONE
    return f"{100 * fraction:,.{decimals}f} %"


def between(low: str, high: str) -> str:
    """An interval by its ends, as they are written; a dash for the upper one says that it is open."""
    return said("{low} and more", low=low) if high == NONE else said("{low} to {high}", low=low, high=high)


def plural(number: int, noun: str, many: str = "") -> str:
    """A number with its noun: `1 step`, `12,082 events`."""
    return Said("{count:,} " + noun, {"count": number}, "{count:,} " + (many or noun + "s"), number)


def listed(numbers: Sequence[int], most: int = 12) -> str:
    """Ascending numbers: `0, 2`, `0 to 7`, `1, 5, 9 and 12 more`, or `none`."""
    if not numbers:
        return said("none")
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return said("{first} to {last}", first=numbers[0], last=numbers[-1])
    first = ", ".join(map(str, numbers[:most]))
    left = len(numbers) - most
    return said("{numbers} and {left} more", numbers=first, left=left) if left > 0 else first
