"""What waits in each device queue: launched and not yet started.

A launch call puts one entry into a queue, however many kernels it brings (a graph has hundreds), and the entry leaves
when the first of them starts there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

#: Entries that a CUDA stream holds; a launch beyond that blocks the host until one starts.
CAPACITY = 1024

_ENTRIES_SQL = """
SELECT track, launch, launch_name_id AS name, launch_ts AS launched, coalesce(launch_dur, 0) AS call_ns,
    min(ts) AS started, count(*) AS activities
FROM activities WHERE kind <> 'sync' AND launch_ts IS NOT NULL
GROUP BY ALL ORDER BY track, launched, launch
"""


@dataclass(frozen=True, slots=True)
class Queue:
    """The n entries that one device queue took, by launch.

    Attributes:
        track: The queue's track.
        launch: int64[n], the calls.
        name: int32[n], `name_id` of the calls.
        launched: int64[n], begin of the calls.
        call_ns: int64[n], durations of the calls.
        started: int64[n], begin of the first activity, never before the call.
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


def queues(trace: Trace) -> list[Queue]:
    """Every device queue that took recorded launches, by track."""
    rows = trace.columns(_ENTRIES_SQL)
    track = rows["track"]
    edges = [0, *(np.flatnonzero(np.diff(track)) + 1).tolist(), track.size] if track.size else [0]
    return [
        Queue(
            int(track[low]),
            rows["launch"][low:high],
            rows["name"][low:high],
            rows["launched"][low:high],
            rows["call_ns"][low:high],
            np.maximum(rows["started"][low:high], rows["launched"][low:high]),
            rows["activities"][low:high],
        )
        for low, high in pairwise(edges)
    ]
