"""By which factor step times differ, with an interval that holds without an assumption on their distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, exp, sqrt
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.student import quantile

#: Chance that the interval holds the factor, unless asked for otherwise: of 100 pairs that differ by noise alone one
#: is expected outside of it.
CONFIDENCE: Final = 0.99
#: Spread (standard deviation over mean) that steps are assumed to have where neither side shows any.
ASSUMED_SPREAD: Final = 0.1
#: Steps of a side beyond which the middle of its distribution is taken at evenly spaced ranks.
_MOST: Final = 2000
#: Steps up to which the distribution of ranks is counted rather than approximated by a normal one.
_COUNTED: Final = 25

Method = Literal["identical", "ranks", "spread", "assumed"]


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """New over base.

    Attributes:
        ratio: Median of the ratios of every new step to every base step.
        low: Lower end of the interval.
        high: Upper end.
        confidence: Chance that the interval holds the true ratio.
        method: identical (all steps are equal on both sides), ranks (order statistics of the ratios), spread (too few
            steps for that: Student's interval on logarithms) or assumed (one step on either side: a spread of
            `ASSUMED_SPREAD` is taken for granted).
    """

    ratio: float
    low: float
    high: float
    confidence: float
    method: Method


def ratio_interval(base: Sequence[int], new: Sequence[int], confidence: float = CONFIDENCE) -> RatioInterval:
    """The ratio of two sets of positive times, at least one on each side.

    With enough steps it is the estimate of Hodges and Lehmann (1963) for a shift of logarithms, and its interval the
    order statistics that the test of Mann and Whitney (1947) accepts: Hollander, Wolfe and Chicken, Nonparametric
    Statistical Methods, 3rd edition, 4.2 and 4.3. That needs 5 and 5 steps for a confidence of 0.99. With fewer the
    interval is Student's on logarithms, the spread being that of both sides together.
    """
    if sorted(base) == sorted(new):
        return RatioInterval(1.0, 1.0, 1.0, 1.0, "identical")
    first, second = (_thinned(np.log(np.asarray(times, np.float64))) for times in (base, new))
    shifts = np.sort((second[None, :] - first[:, None]).ravel())
    middle = float(np.median(shifts))
    order = _order(first.size, second.size, confidence)
    if order:
        low, high = float(shifts[order - 1]), float(shifts[-order])
        return RatioInterval(exp(middle), exp(low), exp(high), confidence, "ranks")
    half, method = _half(first, second, confidence)
    middle = float(second.mean() - first.mean())
    return RatioInterval(exp(middle), exp(middle - half), exp(middle + half), confidence, method)


def _thinned(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if values.size <= _MOST:
        return values
    ranks = (np.arange(_MOST) + 0.5) / _MOST * values.size
    return np.asarray(np.sort(values)[ranks.astype(np.int64)])


def _order(n: int, m: int, confidence: float) -> int:
    """The rank, from 1, of the ratio that is the lower end; 0 if no interval of ranks has this confidence."""
    alpha = (1 - confidence) / 2
    if max(n, m) > _COUNTED:
        below = NormalDist().inv_cdf(alpha) * sqrt(n * m * (n + m + 1) / 12)
        return max(0, int(n * m / 2 + below)) if 1 / comb(n + m, n) <= alpha else 0
    ways, limit, total, order = _ways(n, m), alpha * comb(n + m, n), 0, 0
    while order < n * m and (total := total + ways[order]) <= limit:
        order += 1
    return order


@cache
def _ways(n: int, m: int) -> tuple[int, ...]:
    """In how many orders of n and m values exactly u pairs are inverted, for u from 0 to n m (Mann and Whitney)."""
    if n == 0 or m == 0:
        return (1,)
    counts = [0] * (n * m + 1)
    for u, ways in enumerate(_ways(n - 1, m)):
        counts[u + m] += ways
    for u, ways in enumerate(_ways(n, m - 1)):
        counts[u] += ways
    return tuple(counts)


def _half(base: NDArray[np.float64], new: NDArray[np.float64], confidence: float) -> tuple[float, Method]:
    """Half the interval's width on the scale of logarithms."""
    freedom = base.size + new.size - 2
    wide = sqrt(1 / base.size + 1 / new.size)
    if freedom < 1:
        return NormalDist().inv_cdf((1 + confidence) / 2) * ASSUMED_SPREAD * wide, "assumed"
    squares = float(((base - base.mean()) ** 2).sum() + ((new - new.mean()) ** 2).sum())
    return quantile((1 + confidence) / 2, freedom) * sqrt(squares / freedom) * wide, "spread"
