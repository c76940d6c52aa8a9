"""Split tracks into lanes on which events only nest or follow each other, as timeline viewers require."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.nesting import nest


def lanes(ts: NDArray[np.int64], end: NDArray[np.int64], holds: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The lane of each event of one track, int32[n]; 0 for all if none overlap without nesting.

    On a lane events are disjoint, or one that `holds` encloses the other wholly. An event goes to the first lane
    where it fits.

    Args:
        ts: int64[n] start times.
        end: int64[n] end times.
        holds: bool[n], whether other events may lie within the event: true on threads, false for work of a device.
    """
    result = np.zeros(ts.size, np.int32)
    nesting = nest(ts, end)
    inner = nesting.parent >= 0
    if not nesting.clipped and bool(holds[nesting.parent[inner]].all()):
        return result
    order = np.lexsort((~holds, -end, ts))
    stacks: list[list[tuple[int, bool]]] = []
    rows = zip(order.tolist(), ts[order].tolist(), end[order].tolist(), holds[order].tolist(), strict=True)
    for position, start, finish, may_hold in rows:
        lane = next((i for i, stack in enumerate(stacks) if _fits(stack, start, finish)), len(stacks))
        if lane == len(stacks):
            stacks.append([])
        stacks[lane].append((finish, may_hold))
        result[position] = lane
    return result


def _fits(stack: list[tuple[int, bool]], start: int, finish: int) -> bool:
    """Whether an event fits on a lane, given the ends of the events open there, outermost first."""
    while stack and stack[-1][0] <= start:
        stack.pop()
    return not stack or (stack[-1][1] and finish <= stack[-1][0])
