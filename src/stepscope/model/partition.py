"""Intervals divided: each instant to the first layer that covers it, and intervals cut along tiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Intervals, Times
from stepscope.model.sizes import SIZES
from stepscope.native.dividing import divide

_NONE: Times = np.zeros(0, np.int64)


def partition(layers: Sequence[Intervals], lo: int, hi: int) -> tuple[Times, Times, NDArray[np.int64]]:
    """Give every instant of [lo, hi) to the first layer that covers it.

    Args:
        layers: Any number of sets.
        lo: Start in ns.
        hi: End.

    Returns:
        starts, ends and labels of intervals in time order, which tile [lo, hi). A label is a position in
        `layers`, or `len(layers)` where no layer covers; neighbours differ in label.
    """
    starts, labels = _divided(layers, lo, hi)
    return starts, np.append(starts[1:], hi)[: starts.size], labels.astype(np.int64)


def _divided(layers: Sequence[Intervals], lo: int, hi: int) -> tuple[Times, NDArray[np.int32]]:
    """Starts and labels of the parts."""
    clipped = [layer.clip(lo, hi) for layer in layers]
    largest = max(clipped, key=len, default=Intervals.empty())
    if sum(map(len, clipped)) <= SIZES.divided_intervals or len(largest) < 2:
        first = np.cumsum([0, *map(len, clipped)], dtype=np.int32)
        starts, ends = (
            np.concatenate([_NONE, *(getattr(layer, one) for layer in clipped)]) for one in ("starts", "ends")
        )
        _, heads, labels = divide(1, first, starts, ends, lo, hi)
        return heads, labels
    middle = int(largest.starts[len(largest) // 2])
    (heads, labels), (later, others) = _divided(clipped, lo, middle), _divided(clipped, middle, hi)
    behind = int(labels[-1] == others[0])
    return np.concatenate((heads, later[behind:])), np.concatenate((labels, others[behind:]))


Overlaid = tuple[Times, Times, NDArray[np.int64], NDArray[np.int64]]


def overlay(starts: Times, ends: Times, tile_starts: Times, tile_ends: Times) -> Overlaid:
    """Cut any intervals along tiles, which ascend and do not overlap.

    Returns:
        starts, ends, interval and tile of every non-empty intersection, by interval and then by time.
    """
    first = np.searchsorted(tile_ends, starts, side="right")
    last = np.searchsorted(tile_starts, ends, side="left")
    return _cut(starts, ends, tile_starts, tile_ends, first, last)


def overlay_lanes(
    lane: NDArray[np.int64],
    starts: Times,
    ends: Times,
    tile_lane: NDArray[np.int64],
    tile_starts: Times,
    tile_ends: Times,
) -> Overlaid:
    """`overlay`, of each interval along the tiles of its own lane alone.

    Args:
        lane: int64[n], of each interval.
        starts: int64[n].
        ends: int64[n].
        tile_lane: int64[m], of each tile; ascending.
        tile_starts: int64[m]; ascending, and without overlap, within each lane.
        tile_ends: int64[m].
    """
    order = np.argsort(lane, kind="stable")
    lanes, heads = np.unique(lane[order], return_index=True)
    lows, highs = (np.searchsorted(tile_lane, lanes, side=side) for side in ("left", "right"))
    tails = np.append(heads[1:], lane.size)[: lanes.size]
    first, last = np.zeros(lane.size, np.int64), np.zeros(lane.size, np.int64)
    for low, high, head, tail in np.stack((lows, highs, heads, tails), 1).tolist():
        mine = order[head:tail]
        first[mine] = low + np.searchsorted(tile_ends[low:high], starts[mine], side="right")
        last[mine] = low + np.searchsorted(tile_starts[low:high], ends[mine], side="left")
    return _cut(starts, ends, tile_starts, tile_ends, first, last)


def _cut(
    starts: Times,
    ends: Times,
    tile_starts: Times,
    tile_ends: Times,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> Overlaid:
    """Cut each interval along the tiles [first, last)."""
    count = np.maximum(last - first, 0)
    interval = np.repeat(np.arange(starts.size), count)
    tile = np.arange(interval.size) - np.repeat(np.cumsum(count) - count - first, count)
    lefts = np.maximum(starts[interval], tile_starts[tile])
    finishes = np.minimum(ends[interval], tile_ends[tile])
    real = lefts < finishes
    return lefts[real], finishes[real], interval[real], tile[real]
