"""By which factor step times differ: the shift of their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Final

import numpy as np

from stepscope.comparison.noise.shift import Method, shift

#: Chance that the interval holds the factor, unless asked for otherwise: of 100 pairs that differ by noise alone one
#: is expected outside of it.
CONFIDENCE: Final = 0.99
#: Spread (standard deviation over mean) that steps are assumed to have where neither side shows any.
ASSUMED_SPREAD: Final = 0.1


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """New over base.

    Attributes:
        ratio: Median of the ratios of every new step to every base step; of few, ratio of their geometric means.
        low: Lower end of the interval.
        high: Upper end.
        confidence: Chance that the interval holds the true ratio.
        method: What the interval rests on, see `ShiftInterval`.
    """

    ratio: float
    low: float
    high: float
    confidence: float
    method: Method


def ratio_interval(base: Sequence[int], new: Sequence[int], confidence: float = CONFIDENCE) -> RatioInterval:
    """The ratio of two sets of positive times, at least one on each side."""
    first, second = (np.log(np.asarray(times, np.float64)) for times in (base, new))
    found = shift(first, second, confidence, ASSUMED_SPREAD)
    chance = 1.0 if found.method == "identical" else confidence
    return RatioInterval(exp(found.middle), exp(found.low), exp(found.high), chance, found.method)
