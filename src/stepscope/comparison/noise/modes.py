"""Whether step times have two modes: steps of two kinds, such as those that wait for a batch and those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: The slower mode is at least so many times as long,
APART: Final = 1.08
#: ... each has this many steps,
_LEAST: Final = 2
#: ... and the means are so many times as far apart as the steps of a mode are from theirs (their deviation). Of 1,500
#: samples of a normal distribution at most 3 % are split by that, of 6 as of 70.
_FAR: Final = 4.0
_FAR_OF_FEW: Final = 12.0


def slow_mode(times: Sequence[int]) -> NDArray[np.bool_]:
    """Which of these positive times belong to the slower of two modes, bool[n]; none where they have one mode.

    They are cut where the two parts vary least (Fisher, On grouping for maximum homogeneity, 1958).
    """
    values = np.log(np.asarray(times, np.float64))
    none = np.zeros(values.size, np.bool_)
    if values.size < 2 * _LEAST:
        return none
    order = np.sort(values)
    at = np.arange(_LEAST, order.size - _LEAST + 1)
    total, squares = np.cumsum(order), np.cumsum(order**2)
    low, high = total[at - 1] / at, (total[-1] - total[at - 1]) / (order.size - at)
    within = np.maximum(squares[-1] - at * low**2 - (order.size - at) * high**2, 0)
    best = int(within.argmin())
    far, deviation = high[best] - low[best], np.sqrt(within[best] / (order.size - 2))
    if far < np.log(APART) or far < (_FAR + _FAR_OF_FEW / order.size) * deviation:
        return none
    return np.asarray(values > (order[at[best]] + order[at[best] - 1]) / 2)


def chance_of_share(base: tuple[int, int], new: tuple[int, int]) -> float:
    """How likely shares so far apart are if both are drawn from the same: Fisher's exact test, both sides.

    Args:
        base: How many, and of how many.
        new: The same of the new side.
    """
    hits, size = base[0] + new[0], base[1] + new[1]
    ways = [
        comb(base[1], i) * comb(new[1], hits - i) if 0 <= hits - i <= new[1] else 0
        for i in range(min(base[1], hits) + 1)
    ]
    seen = ways[base[0]]
    return sum(one for one in ways if one <= seen) / comb(size, hits)
