"""Quantiles of Student's distribution, for intervals of few measurements."""

from __future__ import annotations

from functools import lru_cache
from math import atan, cos, exp, lgamma, pi, sin, sqrt
from statistics import NormalDist
from typing import Final

#: Degrees of freedom from which the normal distribution is as good: its quantiles are within 0.3 % there.
_NORMAL_FROM: Final = 1000
#: Steps of the inversion, at most, and the share of a value that is near enough.
_STEPS: Final = 100
_EXACT: Final = 1e-14


@lru_cache(maxsize=4096)
def quantile(probability: float, freedom: int) -> float:
    """The t that a variable with so many degrees of freedom stays below with this probability (0.5 to 1, exclusive).

    Source: the finite sums of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4, inverted by
    Newton's steps, within bounds that halve where these leave them.
    """
    if freedom >= _NORMAL_FROM:
        return NormalDist().inv_cdf(probability)
    wanted = 2 * probability - 1
    low, high = 0.0, max(1.0, NormalDist().inv_cdf(probability))
    while _within(high, freedom) < wanted:
        low, high = high, high * 2
    scale = 2 * exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(freedom * pi)
    t = high
    for _ in range(_STEPS):
        apart = _within(t, freedom) - wanted
        low, high = (low, t) if apart > 0 else (t, high)
        after = t - apart / (scale * (1 + t * t / freedom) ** (-(freedom + 1) / 2))
        after = after if low <= after <= high else (low + high) / 2
        if abs(after - t) <= _EXACT * t:
            return after
        t = after
    return t


def _within(t: float, freedom: int) -> float:
    """The probability of a value between -t and t."""
    angle = atan(t / sqrt(freedom))
    term = cos(angle) if freedom % 2 else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= (k - 1) / k * cos(angle) ** 2
        total += term
    return 2 / pi * (angle + sin(angle) * total) if freedom % 2 else sin(angle) * total
