"""By how much the means of two sets of measurements are apart, with the interval of that difference."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.noise.student import quantile

#: Measurements of each side from which each has a spread of its own; with fewer that of both together is taken.
_OWN_SPREAD: Final = 4
#: Measurements from which it is asked whether neighbours resemble each other.
_RESEMBLING: Final = 10

#: identical (all measurements are equal on both sides), means (Welch's interval), spread (too few for that: Student's
#: with the spread of both sides together) or assumed (one on either side: their spread is taken for granted); of whole
#: recordings, rates of repeated work.
Method = Literal["identical", "means", "spread", "assumed", "rates"]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShiftInterval:
    """New minus base: the difference of the means and its interval.

    Attributes:
        middle: Difference of the means.
        low: Lower end of the interval.
        high: Upper end.
        method: What the interval rests on.
    """

    middle: float
    low: float
    high: float
    method: Method

    @property
    def sure(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


def shift(base: Values, new: Values, confidence: float, assumed: float) -> ShiftInterval:
    """The difference of the means of two sets of at least one measurement each, in order of time.

    Args:
        base: float64[n].
        new: float64[m].
        confidence: Chance that the interval holds the true difference.
        assumed: Standard deviation to take for granted where there is one measurement on each side.
    """
    if base.size == new.size and np.array_equal(np.sort(base), np.sort(new)):
        return ShiftInterval(0.0, 0.0, 0.0, "identical")
    middle = float(new.mean() - base.mean())
    half, method = half_width(base, new, confidence, assumed)
    return ShiftInterval(middle, middle - half, middle + half, method)


def half_width(base: Values, new: Values, confidence: float, assumed: float) -> tuple[float, Method]:
    """Half of the interval of the difference of two means, and what it rests on; arguments as of `shift`.

    It is Welch's (The generalization of Student's problem, Biometrika 34, 1947) where either side has four
    measurements, else Student's with the spread of both together. Where neighbours resemble each other, as when a
    machine warms up, n measurements count as n (1 - r) / (1 + r), r being their correlation with the next one (von
    Storch and Zwiers, Statistical Analysis in Climate Research, 6.6.8).
    """
    chance, freedom = (1 + confidence) / 2, base.size + new.size - 2
    if freedom < 1:
        return NormalDist().inv_cdf(chance) * assumed * sqrt(2), "assumed"
    if min(base.size, new.size) < _OWN_SPREAD:
        squares = sum(float(((one - one.mean()) ** 2).sum()) for one in (base, new))
        return quantile(chance, freedom) * sqrt(squares / freedom * (1 / base.size + 1 / new.size)), "spread"
    parts = [float(one.var(ddof=1)) / one.size * _resemblance(one) for one in (base, new)]
    total = sum(parts)
    if not total:
        return 0.0, "means"
    squares = sum(part * part / (one.size - 1) for part, one in zip(parts, (base, new), strict=True))
    return quantile(chance, max(1, int(total * total / squares))) * sqrt(total), "means"


def _resemblance(values: Values) -> float:
    """By how much more the mean of these varies than that of as many independent measurements; at least 1."""
    apart = values - values.mean()
    squares = float((apart**2).sum())
    if values.size < _RESEMBLING or not squares:
        return 1.0
    found = float((apart[1:] * apart[:-1]).sum()) / squares
    if found <= 2 / sqrt(values.size):
        return 1.0
    found = min(found, 0.9)
    return (1 + found) / (1 - found)
