"""Nest the events of threads: depth, parent, self time.

Profilers write nested calls as independent intervals. Events that outlive their parent (clock granularity,
asynchronous ends) are clipped to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.native import nesting as native

#: The thread of each event, int32[n].
Lane = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Nesting:
    """The call tree of a thread's n events, in the order they were given.

    Attributes:
        depth: int32[n], 0 is outermost.
        parent: int64[n], position of the innermost event that encloses this one, -1 at depth 0.
        end: int64[n], the end in ns, clipped to the parent's end and to the next sibling's start.
        clipped: How many events were clipped.
    """

    depth: NDArray[np.int32]
    parent: Times
    end: Times
    clipped: int


def nest(ts: Times, end: Times, lane: Lane | None = None) -> Nesting:
    """Nest the events of one thread, or of several.

    The parent of an event is the innermost event open when it starts. A child that outlives its parent is clipped to
    the parent's end. An event lying mostly after its predecessor's end is its sibling, not its child: the predecessor
    is clipped to its start (coarse clocks make neighbours overlap). Of equal intervals the one given first is the outer
    one. An event without duration belongs to the event that starts there, else to the one that covers it or ends there.

    Args:
        ts: int64[n], start times in ns, in any order.
        end: int64[n], end times in ns; an end before its start counts as no duration.
        lane: int32[n], the thread of each event; None for one.
    """
    end, lane = np.maximum(end, ts), np.zeros(ts.size, np.int32) if lane is None else lane
    if is_outer_first(ts, end, lane):
        return nest_lanes(lane, ts, end)
    order = outer_first(ts, end, lane)
    nested = nest_lanes(lane[order], ts[order], end[order])
    nesting = Nesting(np.empty_like(nested.depth), np.empty_like(nested.parent), np.empty_like(end), nested.clipped)
    nesting.depth[order] = nested.depth
    nesting.parent[order] = np.where(nested.parent >= 0, order[nested.parent], -1)
    nesting.end[order] = nested.end
    return nesting


def nest_lanes(lane: Lane, ts: Times, recorded: Times) -> Nesting:
    """`nest` for the events of any number of threads, sorted by thread and then outer ones first.

    Args:
        lane: int32[n], the thread of each event.
        ts: int64[n], start times in ns.
        recorded: int64[n], end times in ns, not before the starts.
    """
    depth, parent, end = native.nest(lane, ts, recorded)
    return Nesting(depth, parent, end, int(np.count_nonzero(end != recorded)))


def is_outer_first(ts: Times, end: Times, lane: Lane | None = None) -> bool:
    """Whether events are sorted by thread, start and the longest first among equal starts."""
    sorted_ = (ts[1:] > ts[:-1]) | ((ts[1:] == ts[:-1]) & (end[1:] <= end[:-1]))
    if lane is not None:
        sorted_ = (lane[1:] > lane[:-1]) | ((lane[1:] == lane[:-1]) & sorted_)
    return bool(sorted_.all())


def outer_first(ts: Times, end: Times, lane: Lane | None = None) -> NDArray[np.int64]:
    """Positions sorted by thread, start and the longest first among equal starts; stable for equal intervals."""
    # Events are recorded almost in order, and this sort merges what is in order.
    order = np.argsort(ts, kind="stable") if lane is None else np.lexsort((ts, lane))
    starts = ts[order]
    again = starts[1:] == starts[:-1]
    if not again.any():
        return order
    tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
    members = order[tied]
    keys = (-end[members], ts[members])
    order[tied] = members[np.lexsort(keys if lane is None else (*keys, lane[members]))]
    return order
