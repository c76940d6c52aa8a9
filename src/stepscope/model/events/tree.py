"""Questions about a tree of events that is given by depth and parent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times


def nearest(flag: NDArray[np.bool_], depth: NDArray[np.int32], parent: Times) -> Times:
    """The nearest of each event and its ancestors for which `flag` holds, int64[n], -1 if none does.

    Args:
        flag: bool[n].
        depth: int32[n] as `nest` returns it.
        parent: int64[n] as `nest` returns it; it may also join several threads.
    """
    found = np.where(flag, np.arange(flag.size), parent)
    going = np.flatnonzero((found >= 0) & ~flag)
    reached = found[going]
    levels = int(depth.max(initial=0))
    for _ in range(levels.bit_length()):  # pointer jumping: each round doubles the distance
        left = ~flag[reached]
        going, reached = going[left], found[reached[left]]
        found[going] = reached
        left = reached >= 0
        going, reached = going[left], reached[left]
    return found


def levels(depth: NDArray[np.int32]) -> list[Times]:
    """Ascending positions of the events at each depth; an empty list without events."""
    return np.split(_by_level(depth), np.cumsum(np.bincount(depth))[:-1]) if depth.size else []


def _by_level(depth: NDArray[np.int32]) -> Times:
    """Positions sorted by depth, then ascending."""
    small = depth.astype(np.int16) if depth.max(initial=-1) < np.iinfo(np.int16).max else depth
    return np.argsort(small, kind="stable")  # 16 bits sort by radix


def self_time(dur: Times, parent: Times) -> Times:
    """Duration of each event less that of its direct children, int64[n], never negative.

    Args:
        dur: int64[n], ns. With clipped durations (`Nesting.end` - start) the self times of a tree add up to its
            root's duration exactly, because clipped siblings do not overlap.
        parent: int64[n] as `nest` returns it.
    """
    own: Times = dur.copy()
    inner = np.flatnonzero(parent >= 0)
    np.subtract.at(own, parent[inner], dur[inner])
    own[own < 0] = 0
    return own
