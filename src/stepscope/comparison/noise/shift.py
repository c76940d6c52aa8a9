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
#: What squares of variances are held to be at least, where nothing varies.
_TINY: Final = 1e-300

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
    if base.size + new.size < 3:
        return NormalDist().inv_cdf((1 + confidence) / 2) * assumed * sqrt(2), "assumed"
    method: Method = "spread" if min(base.size, new.size) < _OWN_SPREAD else "means"
    return float(half_widths(base[None], new[None], confidence)[0]), method


def half_widths(base: Values, new: Values, confidence: float) -> Values:
    """Halves of the intervals of n differences at once, float64[n]; see `half_width`.

    Args:
        base: float64[n, a].
        new: float64[n, b]; a and b together are at least 3.
        confidence: Chance that an interval holds the true difference.
    """
    chance = (1 + confidence) / 2
    sides = (base, new)
    number = [one.shape[1] for one in sides]
    if min(number) < _OWN_SPREAD:
        freedom = sum(number) - 2
        squares = sum(((one - one.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for one in sides)
        found: Values = quantile(chance, freedom) * np.sqrt(squares / freedom * (1 / number[0] + 1 / number[1]))
        return found
    parts = [one.var(axis=1, ddof=1) / one.shape[1] * _resemblance(one) for one in sides]
    total = parts[0] + parts[1]
    varied = np.maximum(sum(part**2 / (size - 1) for part, size in zip(parts, number, strict=True)), _TINY)
    freedoms = np.maximum(total**2 / varied, 1).astype(np.int64)
    each: Values = np.array([quantile(chance, one) for one in freedoms.tolist()], np.float64)
    return np.asarray(each * np.sqrt(total))


def _resemblance(values: Values) -> Values:
    """By how much more the mean of each row varies than that of as many independent measurements; at least 1."""
    number = values.shape[1]
    if number < _RESEMBLING:
        return np.ones(values.shape[0])
    apart = values - values.mean(axis=1, keepdims=True)
    squares = (apart**2).sum(axis=1)
    found = (apart[:, 1:] * apart[:, :-1]).sum(axis=1) / np.where(squares > 0, squares, 1)
    found = np.where(found <= 2 / sqrt(number), 0, np.minimum(found, 0.9))
    widened: Values = (1 + found) / (1 - found)
    return widened
