"""Find the innermost interval around moments."""

from __future__ import annotations

import numpy as np

from stepscope.model.intervals import Times


def innermost(starts: Times, ends: Times, moments: Times) -> Times:
    """Position of the interval around each moment that starts last, int64[m], -1 if there is none.

    Args:
        starts: int64[n], ascending; of those that start together the last one counts.
        ends: int64[n]; intervals include both of their edges, and need not be nested.
        moments: int64[m], ascending.
    """
    first, after = np.searchsorted(moments, starts, side="left"), np.searchsorted(moments, ends, side="right")
    around = np.flatnonzero(first < after)  # others never count
    opening, closing = first[around].tolist(), after[around].tolist()
    found, opened, k = np.full(moments.size, -1), list[int](), 0
    for moment in range(moments.size):
        while k < len(opening) and opening[k] <= moment:
            opened.append(k)
            k += 1
        while opened and closing[opened[-1]] <= moment:
            opened.pop()
        if opened:
            found[moment] = around[opened[-1]]
    return found
