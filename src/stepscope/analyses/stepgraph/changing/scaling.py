"""Host time under factors: how much of each stretch of a thread's time is left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Intervals, Times

Factors = Sequence[tuple[Intervals, float]]


def scaled(starts: Times, ends: Times, factors: Factors) -> Times:
    """Length of each stretch once every instant counts by the product of the factors that cover it, int64[n]."""
    length: Times = ends - starts
    if not factors or not length.size:
        return length
    lo, hi = int(starts.min()), int(ends.max())
    factors = [(pieces.clip(lo, hi), factor) for pieces, factor in factors]
    cuts = np.unique(np.concatenate([edge for pieces, _ in factors for edge in (pieces.starts, pieces.ends)]))
    if cuts.size < 2:
        return length
    weight: NDArray[np.float64] = np.ones(cuts.size - 1)
    for pieces, factor in factors:
        weight[pieces.at(cuts[:-1])] *= factor
    # What is gained or lost before each cut; outside the cuts time runs as it did.
    lost = np.concatenate(([0.0], np.cumsum((weight - 1.0) * np.diff(cuts))))
    change = np.interp(ends - lo, cuts - lo, lost) - np.interp(starts - lo, cuts - lo, lost)
    return np.maximum(length + np.rint(change).astype(np.int64), 0)
