"""By which factor step times differ: the ratio of their means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, log, sqrt
from typing import Final

import numpy as np

from stepscope.comparison.noise.shift import Method, half_width
from stepscope.comparison.noise.student import quantile

#: Chance that the interval holds the factor, unless asked for otherwise: of 100 pairs that differ by noise alone one
#: is expected outside of it.
CONFIDENCE: Final = 0.99
#: Spread (standard deviation over mean) that steps are assumed to have where neither side shows any.
ASSUMED_SPREAD: Final = 0.1
#: The same of all that a recording holds together, between two recordings of one program: a warm device is slower as a
#: whole, which the steps of one recording do not tell.
ASSUMED_DRIFT: Final = 0.01
#: An upper end that is so many times the ratio, and more than 1, is none: the spread leaves open how much it may be.
_OPEN: Final = 10
#: Measurements below which a spread is not taken from them alone, and degrees of freedom that are as good as any.
_FEW: Final = 4
_MANY: Final = 10**6


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """New over base.

    Attributes:
        ratio: Ratio of the means; of whole recordings the median of the ratios of repeated work.
        low: Lower end of the interval.
        high: Upper end; infinite where it is open.
        confidence: Chance that the interval holds the true ratio.
        method: What the interval rests on, see `ShiftInterval`.
    """

    ratio: float
    low: float
    high: float
    confidence: float
    method: Method

    @property
    def sure(self) -> bool:
        """Whether the interval excludes 1."""
        return self.low > 1 or self.high < 1

    @property
    def most(self) -> float | None:
        """The upper end; None where it is open."""
        return self.high if isfinite(self.high) else None


def leaves_open(most: float, *known: float) -> bool:
    """Whether the upper end of what a figure may be is no bound any more, beside what it is on either side."""
    return most > _OPEN * max(known)


def ratio_interval(base: Sequence[int], new: Sequence[int], confidence: float = CONFIDENCE) -> RatioInterval:
    """The ratio of the means of two sets of times, of which each side has one that is positive.

    The interval is that of the difference of both sides' times over their mean, as the logarithm of the ratio (the
    delta method), so that it never holds 0.
    """
    if sorted(base) == sorted(new):
        return RatioInterval(1.0, 1.0, 1.0, 1.0, "identical")
    means = [sum(times) / len(times) for times in (base, new)]
    first, second = (np.asarray(times, np.float64) / mean for times, mean in zip((base, new), means, strict=True))
    half, method = half_width(first, second, confidence, ASSUMED_SPREAD)
    apart = log(means[1] / means[0])
    return RatioInterval(exp(apart), *_ends(apart, half), confidence, method)


@dataclass(frozen=True, slots=True)
class MeasuredSums:
    """Measurements by their sums.

    Attributes:
        count: How many.
        total: Their sum.
        squares: Sum of their squares.
    """

    count: int
    total: int
    squares: float


def ratio_of_measured(base: MeasuredSums, new: MeasuredSums, confidence: float = CONFIDENCE) -> RatioInterval:
    """The ratio of the means of two sets of measurements of which the sums are known, each more than 0.

    Welch's interval of shares of the mean, as of `ratio_interval`; measurements of a side with fewer than four of them
    are taken to vary by `ASSUMED_SPREAD` at least.
    """
    parts, apart, assumed = 0.0, 0.0, False
    for one in (base, new):
        mean = one.total / one.count
        variance = max(0.0, one.squares / mean**2 - one.count) / max(1, one.count - 1)
        if one.count < _FEW:
            parts, assumed = parts + max(variance, ASSUMED_SPREAD**2) / one.count, True
        else:
            parts += variance / one.count
            apart += (variance / one.count) ** 2 / (one.count - 1)
    freedom = max(1, int(parts**2 / apart)) if apart else _MANY
    half = quantile((1 + confidence) / 2, freedom) * sqrt(parts)
    middle = log(new.total / new.count * base.count / base.total)
    return RatioInterval(exp(middle), *_ends(middle, half), confidence, "assumed" if assumed else "means")


def _ends(middle: float, half: float) -> tuple[float, float]:
    """Both ends of an interval of a logarithm, as ratios; the upper one open where it says nothing any more."""
    return exp(middle - half), inf if half > max(log(_OPEN), -middle) else exp(middle + half)
