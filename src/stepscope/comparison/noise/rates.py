"""How fast two recordings without steps are: by the work that repeats in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from stepscope.comparison.noise.ratio import RatioInterval

#: Calls on either side from which a name counts: of fewer, one more or less at an edge weighs too much.
_LEAST: Final = 8
#: Names that repeat on both sides, below which nothing is said.
_NAMES: Final = 5
#: Share of the calls of either side that names of both sides must have.
_COVERED: Final = 0.8
#: Share of the names whose rates lie in the interval.
_WITHIN: Final = 0.9
#: What repeats is cut off at the edges of a recording: it holds up to half of a repetition more or less than is
#: counted, and so does the other, sqrt(1/2) together. How often it repeats is what one in ten names falls below.
_CUT: Final = 0.5**0.5
_SELDOM: Final = 0.1


def rate_ratio(base: Mapping[str, int], new: Mapping[str, int], base_ns: int, new_ns: int) -> RatioInterval | None:
    """By which factor the new side takes longer for the same work; None where too little repeats.

    For each name it is the time between two calls of the new side over that of the base. The ratio is their median, and
    nine of ten lie in the interval, each counting with its calls, which is wider by what edges may have cut off.

    Args:
        base: Calls of the base by name.
        new: Calls of the new side by name.
        base_ns: Length of the base.
        new_ns: Length of the new side.
    """
    names = [name for name, calls in base.items() if min(calls, new.get(name, 0)) >= _LEAST]
    covered = min(sum(side[name] for name in names) / max(1, sum(side.values())) for side in (base, new))
    if len(names) < _NAMES or covered < _COVERED or not base_ns or not new_ns:
        return None
    first = np.array([base[name] for name in names], np.float64)
    second = np.array([new[name] for name in names], np.float64)
    ratios = (first / base_ns) / (second / new_ns)
    order = np.argsort(ratios)
    weight = np.cumsum((first + second)[order]) / float((first + second).sum())
    tail = (1 - _WITHIN) / 2
    low, middle, high = (float(ratios[order][np.searchsorted(weight, share)]) for share in (tail, 0.5, 1 - tail))
    cut = 1 + _CUT / float(np.quantile(np.minimum(first, second), _SELDOM))
    return RatioInterval(middle, low / cut, high * cut, _WITHIN, "rates")
