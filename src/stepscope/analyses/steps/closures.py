"""Closures: forward and backward passes that an optimizer's step calls itself, as with LBFGS and in Lightning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Intervals, Times


def enclosing(ts: Times, end: Times, backward: Intervals) -> NDArray[np.bool_]:
    """Whether each of n ranges holds a whole backward pass, bool[n]."""
    first = np.searchsorted(backward.starts, ts)
    found = first < len(backward)
    found[found] = backward.ends[first[found]] <= end[found]
    return found


def closures(steps: Intervals, backward: Intervals, signs: Times) -> Intervals:
    """When closures ran: each from the first sign of its forward pass to the end of its backward pass.

    Between two passes the optimizer does its own work, as it does after the last one. A pass without a sign belongs to
    the one before; where none shows any, nothing is taken for a closure.

    Args:
        steps: Steps of optimizers that hold backward passes.
        backward: When backward passes ran.
        signs: int64[k] ascending, starts of operators that are differentiated later, starts of modules, ends of
            zeroing gradients, and the like.
    """
    starts, ends = [], []
    for lo, hi in zip(steps.starts.tolist(), steps.ends.tolist(), strict=True):
        before, seen = lo, False
        inside = (backward.starts >= lo) & (backward.ends <= hi)
        for start, end in zip(backward.starts[inside].tolist(), backward.ends[inside].tolist(), strict=True):
            first = int(np.searchsorted(signs, before))
            shows = first < signs.size and signs[first] <= start
            if shows or seen:
                starts.append(int(signs[first]) if shows else before)
                ends.append(end)
            before, seen = end, seen or shows
    return Intervals.union_of(starts, ends)
