"""Device queues: order of activities, and launches that wait for room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle.queues import CAPACITY
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities
from stepscope.model.intervals import Times

#: A call is blocked by a full queue if it takes this many times as long as usual.
_BLOCKED = 3
#: Room in a queue is looked at this many times while as many launches are made as it holds.
_FINE = 128
#: At least this share of the calls is taken not to be blocked: those that begin a step after it was waited for.
_FREE = 0.05
#: So many blocked calls, and most of the time of all slow ones, show how much a queue holds.
_ENOUGH = 3
#: A queue also holds what has no device activity (recorded and awaited events), so that calls are blocked a few
#: activities short of the most that were ever seen: 1,018 to 1,022 on a V100.
_SHORT = 64


@dataclass(frozen=True, slots=True)
class QueueActivities:
    """One device queue: its n activities in order.

    Attributes:
        track: Its track.
        member: int64[n], positions in `GraphActivities`.
        called: int64[n], by when each and all before it were launched (start of the call).
        latest: int64[n], position of whichever of it and those before it ends last.
    """

    track: int
    member: NDArray[np.int64]
    called: Times
    latest: NDArray[np.int64]

    def launched_before(self, when: Times) -> NDArray[np.int64]:
        """Number of activities launched before each moment."""
        return np.searchsorted(self.called, when, side="left")


def split_queues(activities: GraphActivities) -> list[QueueActivities]:
    """The queues, by track."""
    order = np.argsort(activities.track, kind="stable")
    edges = np.flatnonzero(np.diff(activities.track[order])) + 1
    return [_queue(activities, member) for member in np.split(order, edges)] if order.size else []


def _queue(activities: GraphActivities, member: NDArray[np.int64]) -> QueueActivities:
    ends = activities.end[member]
    reach = np.maximum.accumulate(ends)
    leading = np.where(ends == reach, np.arange(member.size), 0)
    latest = member[np.maximum.accumulate(leading)]
    return QueueActivities(
        int(activities.track[member[0]]), member, np.maximum.accumulate(activities.called[member]), latest
    )


def predecessors(activities: GraphActivities, queues: list[QueueActivities]) -> NDArray[np.int64]:
    """The activity after which each one runs on its queue, int64[n], -1 for the first.

    Neighbours may overlap a little (programmatic dependent launch); activities that run beside a longer one follow the
    same predecessor as that one.
    """
    before = np.full(activities.ts.size, -1)
    for queue in queues:
        before[queue.member[1:]] = queue.member[:-1]
        wrong = _outlived(activities, before, queue.member)
        while wrong.size:
            before[wrong] = before[before[wrong]]
            wrong = _outlived(activities, before, wrong)
    return before


def _outlived(activities: GraphActivities, before: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    previous = before[among]
    return among[(previous >= 0) & (activities.end[np.maximum(previous, 0)] > activities.end[among])]


@dataclass(frozen=True, slots=True)
class Full:
    """Launches that may have to wait for room in their queue.

    Attributes:
        call: int64[m], launching events.
        room: int64[m], position of the activity that has to end first.
        blocked: bool[m], whether it did have to wait.
    """

    call: NDArray[np.int64]
    room: NDArray[np.int64]
    blocked: NDArray[np.bool_]


def full_queues(activities: GraphActivities, queues: list[QueueActivities], call_end: Times, call_ns: Times) -> Full:
    """Launches that wait for room in their queue, by queue.

    Args:
        activities: The activities.
        queues: Their queues.
        call_end: int64[activities], end of the launching call, -1 where it is not recorded.
        call_ns: int64[activities], its duration.
    """
    parts = [_full(activities, queue, call_end, call_ns) for queue in queues]
    none = np.zeros(0, np.int64)
    calls, rooms, blocked = (list(column) for column in zip(*parts, strict=True)) if parts else ([], [], [])
    return Full(
        np.concatenate([none, *calls]), np.concatenate([none, *rooms]), np.concatenate([none, *blocked]).astype(bool)
    )


def _full(
    activities: GraphActivities, queue: QueueActivities, call_end: Times, call_ns: Times
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    launch = activities.launch[queue.member]
    last = np.append(launch[1:] != launch[:-1], True) | (launch < 0)
    launch, member, latest = launch[last], queue.member[last], queue.latest[last]
    returned, took = call_end[member], call_ns[member]
    known = np.flatnonzero(returned >= 0)
    ended = np.searchsorted(activities.end[latest], returned[known], side="right")
    held = known + 1 - ended
    most = int(held.max(initial=0))
    slow = took[known] > _BLOCKED * (float(np.quantile(took[known], _FREE)) if known.size else 0.0)
    slow &= activities.end[member[known]] > returned[known]  # else it waited for what it launched
    full = slow & (held >= most - most // _SHORT) & (most > 1)
    small = np.count_nonzero(full) >= _ENOUGH and 2 * took[known[full]].sum() >= took[known[slow]].sum()
    depth = most if small else max(CAPACITY, most + 1)
    # A few launches more or less make no difference to a queue that holds a thousand.
    chosen = (known >= depth) & (slow | (known % max(depth // _FINE, 1) == 0))
    entry, blocked = known[chosen], full[chosen] & small
    # A blocked call returns when there is room: what it waited for is what ended last by then.
    return launch[entry], latest[entry - np.where(blocked, held[chosen], depth)], blocked
