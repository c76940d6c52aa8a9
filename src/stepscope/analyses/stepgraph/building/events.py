"""Find activities that wait for work of another queue, from the calls that make a queue wait for an event."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import device_activities, host_calls
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities
from stepscope.analyses.stepgraph.building.host_calls import GraphCalls
from stepscope.analyses.stepgraph.building.queues import QueueActivities

#: Where nothing shows it: from the end of what is waited for to the start of what waits.
EVENT_NS = 1_500
#: Start and duration are rounded, each to this at worst, if all recorded times are multiples of it.
_RESOLUTIONS = (1_000,)

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class _Launched:
    """Activities by time of launch, as lists, which are faster to search than arrays: positions and times."""

    order: list[int]
    called: list[int]

    @classmethod
    def of(cls, activities: GraphActivities, among: NDArray[np.int64]) -> _Launched:
        order = among[np.argsort(activities.called[among], kind="stable")]
        return cls(order.tolist(), activities.called[order].tolist())

    def after(self, when: int) -> int:
        """The first one launched after a moment, -1 if there is none."""
        at = bisect_right(self.called, when)
        return self.order[at] if at < len(self.order) else -1

    def before(self, when: int) -> int:
        """The last one launched before a moment, -1 if there is none."""
        at = bisect_left(self.called, when) - 1
        return self.order[at] if at >= 0 else -1


def event_waits(activities: GraphActivities, queues: list[QueueActivities], calls: GraphCalls) -> Pairs:
    """Activities and what they wait for, derived from the calls that make a queue wait.

    Recorded is that a queue was made to wait, not for which event. A call right after the record of an event refers to
    that event: the other queue's work starts after what the thread's main queue was given so far, or the other way
    round. A call without a record makes the main queue wait for the last finished work of the other queues.
    """
    waits = np.flatnonzero(calls.role == host_calls.EVENT_WAIT)
    if not waits.size or len(queues) < 2:
        none = np.zeros(0, np.int64)
        return none, none
    finder = _Finder(activities, queues, calls)
    found = [pair for wait in waits.tolist() for pair in finder.pair(wait)]
    target, source = (np.array(column, np.int64) for column in zip(*found, strict=True)) if found else 2 * (waits[:0],)
    return target, source


def rounding_ns(activities: GraphActivities) -> int:
    """By how much rounding may place the end of an activity after the start of one that waited for it."""
    recorded = next((one for one in _RESOLUTIONS if not (activities.ts % one).any()), 1)
    return 2 * recorded


class _Finder:
    """Looks up what was launched where around a call."""

    def __init__(self, activities: GraphActivities, queues: list[QueueActivities], calls: GraphCalls) -> None:
        self.rounding = rounding_ns(activities)
        self.a, self.calls = activities, calls
        self.by_queue = {queue.track: _Launched.of(activities, queue.member) for queue in queues}
        self.by_thread = {
            thread: _Launched.of(activities, np.flatnonzero(activities.thread == thread))
            for thread in np.unique(activities.thread).tolist()
        }
        compute = activities.track[activities.kind == device_activities.COMPUTE]
        tracks, count = np.unique(compute if compute.size else activities.track, return_counts=True)
        self.main = int(tracks[count.argmax()])
        records = np.flatnonzero(calls.role == host_calls.EVENT_RECORD)
        self.records = {
            thread: calls.ts[records[calls.track[records] == thread]]
            for thread in np.unique(calls.track[records]).tolist()
        }

    def pair(self, wait: int) -> list[tuple[int, int]]:
        """The activity that waits and the one it waits for; None if there is none, or if its start refutes it."""
        now, thread = int(self.calls.ts[wait]), int(self.calls.track[wait])
        recorded = self._recorded(now, thread)
        target_queue = int(self.calls.queue[wait])
        if target_queue not in self.by_queue:
            following = self._next(thread, now)
            target_queue = int(self.a.track[following]) if recorded >= 0 and following >= 0 else self.main
        target = self.by_queue[target_queue].after(now)
        if target < 0:
            return []
        source = self._marked(target_queue, thread, recorded) if recorded >= 0 else self._latest(target, now)
        if source < 0 or self.a.end[source] > self.a.ts[target] + self.rounding:
            return []
        return [(target, source)]

    def _recorded(self, now: int, thread: int) -> int:
        """When the thread recorded an event, if it has launched nothing since; else -1."""
        times = self.records.get(thread)
        at = int(np.searchsorted(times, now, side="right")) - 1 if times is not None else -1
        if times is None or at < 0:
            return -1
        launched = self.by_thread.get(thread)
        last = launched.before(now) if launched else -1
        recorded = int(times[at])
        return recorded if last < 0 or self.a.called[last] < recorded else -1

    def _next(self, thread: int, now: int) -> int:
        launched = self.by_thread.get(thread)
        return launched.after(now) if launched else -1

    def _marked(self, target_queue: int, thread: int, recorded: int) -> int:
        """The last activity before the event record, on the main queue or, if that one waits, on another queue."""
        if target_queue != self.main:
            return self.by_queue[self.main].before(recorded)
        launched = self.by_thread.get(thread)
        last = launched.before(recorded) if launched else -1
        if last >= 0 and self.a.track[last] != self.main:
            return last
        others = [queue.before(recorded) for track, queue in self.by_queue.items() if track != self.main]
        return max((other for other in others if other >= 0), key=lambda i: int(self.a.called[i]), default=-1)

    def _latest(self, target: int, now: int) -> int:
        """The activity that ended last before the target started, of those launched on other queues by then."""
        found = -1
        for track, queue in self.by_queue.items():
            if track == self.a.track[target]:
                continue
            last = queue.before(now)
            while last >= 0 and self.a.end[last] > self.a.ts[target] + self.rounding:
                last = queue.before(int(self.a.called[last]))
            if last >= 0 and (found < 0 or self.a.end[last] > self.a.end[found]):
                found = last
        return found
