"""Entries of each device queue: launched and not yet started.

A launch call adds one entry to a queue, however many kernels it brings (a graph has hundreds); the entry leaves when
the first of them starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

#: Entries that a CUDA stream holds; a launch beyond that blocks the host until one starts.
CAPACITY = 1024


@dataclass(frozen=True, slots=True)
class QueueEntries:
    """The n entries that one device queue took, by launch.

    Attributes:
        track: The queue's track.
        launch: int64[n], the calls.
        name: int32[n], `name_id` of the calls.
        launched: int64[n], start of the calls.
        call_ns: int64[n], durations of the calls.
        started: int64[n], start of the first activity, never before the call.
        activities: int64[n], device activities of each entry.
    """

    track: int
    launch: NDArray[np.int64]
    name: NDArray[np.int32]
    launched: Times
    call_ns: Times
    started: Times
    activities: NDArray[np.int64]

    @property
    def ahead(self) -> NDArray[np.int64]:
        """For each entry, how many earlier ones were still waiting when its call began, int64[n]."""
        return np.arange(self.launched.size) - np.searchsorted(np.sort(self.started), self.launched, side="right")

    @property
    def blocked(self) -> NDArray[np.bool_]:
        """Which calls found the queue full, bool[n]."""
        return self.ahead >= CAPACITY

    def depth(self) -> tuple[Times, NDArray[np.int64]]:
        """Times at which the number of waiting entries changes, ascending, and the number from each of them on.

        Entries that start at the moment of their call never wait; of changes at one moment only the last counts.
        """
        waits = self.started > self.launched
        at = np.concatenate((self.launched[waits], self.started[waits]))
        change = np.ones(at.size, np.int64)
        change[at.size // 2 :] = -1
        order = np.argsort(at, kind="stable")
        at, waiting = at[order], np.cumsum(change[order])
        last = np.append(at[1:] != at[:-1], True)[: at.size]
        return at[last], waiting[last]


def queues(trace: Trace) -> list[QueueEntries]:
    """Every device queue that took recorded launches, by track."""
    work = DeviceWork.of(trace)
    at = np.flatnonzero(work.launched & ~work.are("sync"))
    at = at[np.lexsort((work.launch[at], work.called[at], work.track[at]))]
    if not at.size:
        return []
    launch, track = work.launch[at], work.track[at]
    first = np.flatnonzero(np.append(True, (launch[1:] != launch[:-1]) | (track[1:] != track[:-1])))
    started = np.minimum.reduceat(work.ts[at], first)
    activities = np.diff(np.append(first, at.size))
    at, track = at[first], track[first]
    launched, call_ns = work.called[at], np.maximum(work.call_ns[at], 0)
    edges = [0, *(np.flatnonzero(np.diff(track)) + 1).tolist(), track.size]
    return [
        QueueEntries(
            int(track[low]),
            work.launch[at[low:high]],
            work.call_name[at[low:high]],
            launched[low:high],
            call_ns[low:high],
            np.maximum(started[low:high], launched[low:high]),
            activities[low:high],
        )
        for low, high in pairwise(edges)
    ]
