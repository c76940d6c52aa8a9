"""Which lane of its track an event is drawn in: by nesting on host threads, by first fit elsewhere."""

from __future__ import annotations

import heapq
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.nesting import is_outer_first
from stepscope.model.intervals import Times, ascending
from stepscope.native.around import around

Lanes = NDArray[np.uint16]

#: Deeper events share the last lane.
_MOST: Final = 512


def nested_lanes(parent: NDArray[np.int32], depth: NDArray[Any], member: NDArray[np.bool_]) -> Lanes:
    """How many members are around each of the n events of a thread, uint16[n].

    Args:
        parent: int32[n], position of the innermost event around each one, -1 for none.
        depth: Nesting depth; parents are less deep.
        member: Whether an event counts.
    """
    if (parent < np.arange(parent.size)).all():
        return around(parent, member, _MOST - 1)
    # Of events that start together an inner one may stand before an outer one.
    order = ascending(depth)
    place, lanes = np.empty(order.size + 1, np.int32), np.empty(order.size, np.uint16)
    place[order], place[-1] = np.arange(order.size), -1
    lanes[order] = around(place[parent[order]], member[order], _MOST - 1)
    return lanes


def fitted_lanes(ts: Times, dur: Times) -> Lanes:
    """The lowest lane that is free where each of n intervals starts, uint16[n]; of equal starts the longer first."""
    end = ts + dur
    if is_outer_first(ts, end):
        return _fitted(ts, end)
    lanes = np.empty(ts.size, np.uint16)
    order = np.lexsort((-dur, ts))
    lanes[order] = _fitted(ts[order], end[order])
    return lanes


def _fitted(start: Times, end: Times) -> Lanes:
    """The lanes of intervals that are in order."""
    lanes = np.zeros(start.size, np.uint16)
    reach = np.maximum.accumulate(end)
    # Where nothing earlier is open all lanes are free; what overlaps nothing needs no search.
    free = start[1:] >= reach[:-1]
    if free.all():
        return lanes
    apart = np.flatnonzero(np.append(True, free))
    many = np.flatnonzero(np.diff(apart, append=start.size) > 1)
    for since, stop in zip(apart[many].tolist(), np.append(apart, start.size)[many + 1].tolist(), strict=True):
        lanes[since:stop] = _first_fit(start[since:stop].tolist(), end[since:stop].tolist())
    return lanes


def _first_fit(starts: list[int], ends: list[int]) -> list[int]:
    free: list[int] = []
    ending: list[tuple[int, int]] = []
    used, found = 0, []
    for start, end in zip(starts, ends, strict=True):
        while ending and ending[0][0] <= start:
            heapq.heappush(free, heapq.heappop(ending)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, used = min(used, _MOST - 1), used + 1
        found.append(lane)
        heapq.heappush(ending, (end, lane))
    return found
