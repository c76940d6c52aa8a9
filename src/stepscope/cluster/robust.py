"""What is unusual among few values or many: deviations from the median that single outliers do not change."""

from __future__ import annotations

from collections.abc import Collection
from statistics import median_low
from typing import Final

#: A value is unusual from so many deviations on.
DEVIATIONS: Final = 5
#: The median absolute deviation of a normal distribution times this is its standard deviation.
_NORMAL: Final = 1.4826


def usual(values: Collection[float]) -> tuple[float, float]:
    """Median of the values, and their deviation: the median absolute one, as a normal distribution has it.

    Of two middle values the lower one counts, so that of two values one can be unusual.
    """
    middle = median_low(values)
    return middle, _NORMAL * median_low([abs(value - middle) for value in values])
