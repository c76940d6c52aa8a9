"""Values with units, as people read them; the exact ones stay in the tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from stepscope.model.schema import Column
from stepscope.reports.text import visible

_TIME: Final = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
_BINARY: Final = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_DECIMAL: Final = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
#: Steps of each unit and what is written after the prefix.
_SCALES: Final[dict[str, tuple[tuple[tuple[float, str], ...], str]]] = {
    "ns": (_TIME, ""),
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
    steps, suffix = _SCALES[unit]
    divisor, label = next(((d, s) for d, s in steps if abs(value) >= d), steps[-1])
    scaled = value / divisor
    decimals = 0 if divisor == 1 or abs(scaled) >= 99.95 else 1 if abs(scaled) >= 9.995 else 2
    return f"{scaled:,.{decimals}f} {label}{suffix}".rstrip()


def percent(fraction: float | None, decimals: int = 1) -> str:
    """A share: `12.3 %`, or a dash for null."""
    if fraction is None or not math.isfinite(fraction):
        return NONE
    return f"{100 * fraction:,.{decimals}f} %"


@dataclass(frozen=True, slots=True)
class Scale:
    """How the values of one column are written, all in the same unit so that they can be compared at a glance.

    Attributes:
        label: The unit, for the heading; empty if there is none or every value has its own.
        divisor: What a value is divided by.
        decimals: Digits after the point.
        unit: Unit of the column.
    """

    label: str
    divisor: float
    decimals: int
    unit: str

    def write(self, value: Any) -> str:
        """One value as text, without the unit."""
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return NONE
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, (list, tuple)):
            return visible(" × ".join(map(str, value)))
        if not isinstance(value, (int, float)):
            return visible(str(value))
        if self.unit in _SCALES and not self.label:
            return quantity(value, self.unit)
        scaled = value / self.divisor if self.divisor != 1 else value
        return str(value) if self.unit == "id" else f"{scaled:,.{self.decimals}f}"


def scale(column: Column, values: Iterable[Any], like: Scale | None = None) -> Scale:
    """The scale that suits the values of a column.

    Args:
        column: The column.
        values: Its values.
        like: For a time, the scale of the column that it is to be compared with.
    """
    if column.unit == "fraction":
        return Scale("%", 0.01, 1, column.unit)
    if column.unit == "ns":
        return like or time_scale(values)
    if column.unit in _SCALES:
        return Scale("", 1, 2, column.unit)
    is_key = column.type in ("int32", "int64") and column.unit in ("", "id")
    return Scale("", 1, 2 if column.type == "float64" else 0, "id" if is_key else column.unit)


def time_scale(values: Iterable[Any], *, by_smallest: bool = False) -> Scale:
    """A unit of time for values that are compared with each other.

    Args:
        values: Times in ns; nulls and zeros do not count.
        by_smallest: Choose it so that the smallest value keeps its digits, rather than the largest being short.
    """
    found = [abs(value) for value in values if value and math.isfinite(value)]
    if by_smallest:
        least = min(found, default=0)
        divisor, label = next(((d, s) for d, s in _TIME if least >= d), _TIME[-1])
        divisor, label = max((divisor, label), (10**3, "µs"))
    else:
        divisor, label = next(((d, s) for d, s in _TIME if max(found, default=0) >= 10 * d), _TIME[-1])
    largest = max(found, default=0) / divisor
    return Scale(label, divisor, 0 if divisor == 1 else 1 if largest >= 1000 else 2, "ns")
