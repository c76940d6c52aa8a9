"""Values with units, as people read them; the exact ones stay in the tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stepscope.language import said
from stepscope.model.amounts import NONE, SCALES, TIME, duration, percent, quantity
from stepscope.model.schema import Column
from stepscope.reports.text import visible

__all__ = ["NONE", "Scale", "duration", "percent", "quantity", "scale", "time_scale"]


@dataclass(frozen=True, slots=True)
class Scale:
    """How the values of one column are written, all in the same unit so that they can be compared at a glance.

    Attributes:
        label: The unit, for the heading; empty if there is none or every value has its own.
        divisor: What a value is divided by.
        decimals: Digits after the point.
        unit: Unit of the column.
        between: What stands between the values of a list: sizes of a shape are multiplied, ranks are not.
    """

    label: str
    divisor: float
    decimals: int
    unit: str
    between: str = " × "

    def write(self, value: Any) -> str:
        """One value as text, without the unit."""
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return NONE
        if isinstance(value, bool):
            return said("yes") if value else said("no")
        if isinstance(value, (list, tuple)):
            return visible(self.between.join(map(str, value)))
        if not isinstance(value, (int, float)):
            return visible(value if isinstance(value, str) else str(value))
        if self.unit in SCALES and not self.label:
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
    if column.unit in SCALES:
        return Scale("", 1, 2, column.unit)
    if column.type == "string[]" or column.name.endswith("ranks"):
        return Scale("", 1, 0, column.unit, ", ")
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
        divisor, label = next(((d, s) for d, s in TIME if least >= d), TIME[-1])
        divisor, label = max((divisor, label), (10**3, "µs"))
    else:
        divisor, label = next(((d, s) for d, s in TIME if max(found, default=0) >= 10 * d), TIME[-1])
    largest = max(found, default=0) / divisor
    return Scale(label, divisor, 0 if divisor == 1 else 1 if largest >= 1000 else 2, "ns")
