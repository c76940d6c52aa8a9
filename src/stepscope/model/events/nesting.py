"""Nest the events of one thread: depth, parent, self time.

Profilers write nested calls as independent intervals. Most threads nest properly, and there the depth of
an event is the number of intervals open when it starts, found by vectorised counting. Events that outlive their
parent (clock granularity, asynchronous ends) are repaired with a stack, only where they occur.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.tree import _by_level, nearest
from stepscope.model.intervals import Intervals, Times

#: Rounds of counting before the stack takes over. Overlaps seldom build on each other.
_ROUNDS = 6
#: Events the stack takes as Python integers at a time: about 20 MB of temporaries.
_CHUNK = 1 << 17


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


def nest(ts: Times, end: Times) -> Nesting:
    """Nest the events of one thread.

    The parent of an event is the innermost event open when it starts. A child that outlives its parent is clipped to
    the parent's end. An event lying mostly after its predecessor's end is its sibling, not its child: the predecessor
    is clipped to its start (coarse clocks make neighbours overlap). Of equal intervals the one given first is the outer
    one. An event without duration belongs to the event that starts there, else to the one that covers it or ends there.

    Args:
        ts: int64[n], start times in ns, in any order.
        end: int64[n], end times in ns; an end before its start counts as no duration.
    """
    end = np.maximum(end, ts)
    if is_outer_first(ts, end):
        return _nest_in_order(ts, end)
    order = outer_first(ts, end)
    nested = _nest_in_order(ts[order], end[order])
    nesting = Nesting(np.empty_like(nested.depth), np.empty_like(nested.parent), np.empty_like(end), nested.clipped)
    nesting.depth[order] = nested.depth
    nesting.parent[order] = np.where(nested.parent >= 0, order[nested.parent], -1)
    nesting.end[order] = nested.end
    return nesting


def _nest_in_order(ts: Times, recorded: Times) -> Nesting:
    """`nest` for events sorted outer ones first (`outer_first`)."""
    end = recorded.copy()
    depth, parent, late = _count_and_clip(ts, end)
    if late.size:
        _repair(_same_cluster(late, ts, end), ts, end, depth, parent)
    return Nesting(depth, parent, end, int(np.count_nonzero(end != recorded)))


def is_outer_first(ts: Times, end: Times) -> bool:
    """Whether events are sorted by start, longest first among equal starts."""
    return bool(((ts[1:] > ts[:-1]) | ((ts[1:] == ts[:-1]) & (end[1:] <= end[:-1]))).all())


def outer_first(ts: Times, end: Times) -> NDArray[np.int64]:
    """Positions sorted by start, longest first among equal starts; stable for equal intervals."""
    order = np.argsort(ts, kind="stable")  # events are recorded almost in order, and this sort merges what is in order
    starts = ts[order]
    again = starts[1:] == starts[:-1]
    if not again.any():
        return order
    tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
    members = order[tied]
    order[tied] = members[np.lexsort((-end[members], ts[members]))]
    return order


def _count_and_clip(ts: Times, end: Times) -> tuple[NDArray[np.int32], Times, Times]:
    """Depth and parent by counting, clipping simple overlaps in place; also the positions still overlapping.

    An event that outlives its parent makes events starting in the excess count too deep. Each round therefore clips
    only events that start in no excess and have no other clipping around them, then counts again. `_repair` handles
    what is left after a few rounds.
    """
    for last_round in (*[False] * _ROUNDS, True):
        depth = _open_intervals(ts, end)
        parent = _last_of_previous_level(depth)
        late = np.flatnonzero((depth > 0) & (end > end[parent]))
        if last_round or not late.size:
            break
        start, limit = ts[late], end[parent[late]]
        believable = start < limit
        sibling = believable & (limit - start < end[late] - limit) & (ts[parent[late]] < start)
        doubtful = np.where(sibling, start + 1, np.where(believable, limit, start))
        excess = Intervals.union_of(doubtful, np.where(sibling, limit, end[late]))
        moving = np.zeros(ts.size, np.bool_)
        moving[late] = True
        settled = nearest(moving, depth, parent)[parent[late]] < 0
        sure = believable & ~excess.at(start) & settled
        if not sure.any():
            break
        inside, beside = sure & ~sibling, sure & sibling
        end[late[inside]] = limit[inside]
        np.minimum.at(end, parent[late[beside]], start[beside])
    return depth, parent, late


def _open_intervals(ts: Times, end: Times) -> NDArray[np.int32]:
    """Number of earlier events open when each event starts; the depth, if all nest properly."""
    ends = np.maximum(end, ts + 1)  # an event without duration is open only at its start
    ends.sort(kind="stable")  # almost sorted already
    ended = _ended_before(ends, ts)
    depth = np.arange(ts.size, dtype=np.int32)
    depth -= ended
    instant = np.flatnonzero(end == ts)
    if instant.size:
        at = ts[instant]
        first = np.append(True, at[1:] != at[:-1])  # of those that start together
        start = instant[first]
        beside = (start > 0) & (ts[start - 1] == ts[start])  # something that lasts starts there; else what ends is open
        alone = instant[~beside[np.cumsum(first) - 1]]
        alone = alone[ends[ended[alone] - 1] == ts[alone]]
        ending = ended[alone] - np.searchsorted(ends, ts[alone], side="left")
        ending -= _number(at, ts[alone] - 1)
        depth[alone] += ending.astype(np.int32)
    return depth


def _number(ascending: Times, values: Times) -> NDArray[np.int64]:
    """Number of occurrences of each value in the ascending ones."""
    return np.searchsorted(ascending, values, side="right") - np.searchsorted(ascending, values, side="left")


def _ended_before(ends: Times, ts: Times) -> NDArray[np.int32]:
    """For each ts, the number of ends at or before it, int32[n]; both ascend, so the stable sort is a merge."""
    order = np.argsort(np.concatenate((ends, ts)), kind="stable")
    count = np.flatnonzero(order >= ends.size)
    count -= np.arange(ts.size)
    return count.astype(np.int32)


def _last_of_previous_level(depth: NDArray[np.int32]) -> Times:
    """Position of each event's last predecessor one level up, its parent; -1 if there is none.

    An event is at most one level deeper than its predecessor. If it is deeper, the predecessor is its parent;
    otherwise it shares the parent of the last event before it at its own level.
    """
    by_level = _by_level(depth)
    deeper = np.append(False, depth[1:] > depth[:-1])[by_level]
    last = np.maximum.accumulate(np.where(deeper, np.arange(depth.size), 0))  # every level starts with a deeper one
    parent = np.empty(depth.size, np.int64)
    parent[by_level] = by_level[last] - 1
    return parent


def _same_cluster(marked: Times, ts: Times, end: Times) -> Times:
    """Positions of all events in clusters that hold a `marked` one; nothing is open between clusters."""
    reach = np.maximum.accumulate(end)
    first = np.ones(ts.size, np.bool_)
    first[1:] = (ts[1:] > reach[:-1]) | ((ts[1:] == reach[:-1]) & (end[1:] > ts[1:]))
    cluster = np.cumsum(first) - 1
    hit = np.zeros(int(cluster[-1]) + 1, np.bool_)
    hit[cluster[marked]] = True
    return np.flatnonzero(hit[cluster])


def _repair(where: Times, ts: Times, end: Times, depth: NDArray[np.int32], parent: Times) -> None:
    """Nest the events at positions `where` with a stack, in place."""
    stack: list[tuple[int, int, int]] = []  # (position, start, clipped end), ends never increase upwards
    for lo in range(0, where.size, _CHUNK):
        chunk = where[lo : lo + _CHUNK]
        ends, depths, parents = end[chunk].tolist(), [0] * chunk.size, [-1] * chunk.size
        cut: dict[int, int] = {}
        for i, (position, start) in enumerate(zip(chunk.tolist(), ts[chunk].tolist(), strict=True)):
            finish = ends[i]
            closes_at = start if finish > start else start - 1
            while stack and stack[-1][2] <= closes_at:
                stack.pop()
            while stack and stack[-1][1] < start and stack[-1][2] - start < finish - stack[-1][2]:
                cut[stack.pop()[0]] = start
            if stack:
                parents[i], _, limit = stack[-1]
                depths[i] = len(stack)
                if finish > limit:
                    ends[i] = finish = limit
            stack.append((position, start, finish))
        end[chunk], depth[chunk], parent[chunk] = ends, depths, parents
        end[list(cut)] = list(cut.values())
