"""By how much two sets of measurements are apart, with an interval that holds whatever their distribution is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb, sqrt
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.noise.student import quantile

#: Measurements of a side beyond which its distribution is taken at evenly spaced ranks.
_MOST: Final = 2000
#: Measurements up to which the distribution of ranks is counted rather than approximated by a normal one.
_COUNTED: Final = 25

#: identical (all measurements are equal on both sides), ranks (order statistics of the differences), spread (too few
#: for that: Student's interval) or assumed (one on either side: their spread is taken for granted); of whole
#: recordings, rates of repeated work.
Method = Literal["identical", "ranks", "spread", "assumed", "rates"]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShiftInterval:
    """New minus base: an estimate and its interval.

    Attributes:
        middle: Median of the differences of every new measurement to every base one; of few, difference of the means.
        low: Lower end of the interval.
        high: Upper end.
        method: What the interval rests on.
    """

    middle: float
    low: float
    high: float
    method: Method


def shift(base: Values, new: Values, confidence: float, assumed: float) -> ShiftInterval:
    """The shift between two sets of at least one measurement each.

    With enough of them it is the estimate of Hodges and Lehmann (1963), and its interval the order statistics that the
    test of Mann and Whitney (1947) accepts: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd
    edition, 4.2 and 4.3. That needs 5 and 5 measurements for a confidence of 0.99. With fewer the interval is
    Student's, the spread being that of both sides together.

    Args:
        base: float64[n].
        new: float64[m].
        confidence: Chance that the interval holds the true shift.
        assumed: Standard deviation to take for granted where there is one measurement on each side.
    """
    if base.size == new.size and np.array_equal(np.sort(base), np.sort(new)):
        return ShiftInterval(0.0, 0.0, 0.0, "identical")
    base, new = _thinned(base), _thinned(new)
    order = _order(base.size, new.size, confidence)
    if order:
        apart = np.sort((new[None, :] - base[:, None]).ravel())
        return ShiftInterval(float(np.median(apart)), float(apart[order - 1]), float(apart[-order]), "ranks")
    middle, wide = float(new.mean() - base.mean()), sqrt(1 / base.size + 1 / new.size)
    freedom, chance = base.size + new.size - 2, (1 + confidence) / 2
    if freedom < 1:
        half = NormalDist().inv_cdf(chance) * assumed * wide
        return ShiftInterval(middle, middle - half, middle + half, "assumed")
    squares = float(((base - base.mean()) ** 2).sum() + ((new - new.mean()) ** 2).sum())
    half = quantile(chance, freedom) * sqrt(squares / freedom) * wide
    return ShiftInterval(middle, middle - half, middle + half, "spread")


def _thinned(values: Values) -> Values:
    if values.size <= _MOST:
        return values
    ranks = (np.arange(_MOST) + 0.5) / _MOST * values.size
    return np.asarray(np.sort(values)[ranks.astype(np.int64)])


def _order(n: int, m: int, confidence: float) -> int:
    """The rank, from 1, of the difference that is the lower end; 0 if no interval of ranks has this confidence."""
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
