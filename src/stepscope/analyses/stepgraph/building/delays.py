"""Usual delays of the device: between two activities of a queue, and from a launch to its start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.device_activities import GraphActivities
from stepscope.model.intervals import Times

#: Where a recording does not show it: time between two activities of a queue, and from a launch to its start.
_GAP_NS = 1_000
_LATENCY_NS = 2_000
#: What takes longer than this is waiting for something else.
_SLOWEST_NS = 50_000


@dataclass(frozen=True, slots=True)
class Delays:
    """Usual delays of the device.

    Attributes:
        gap: Between two activities of a queue, both launched in time.
        graph_gap: The same within a graph.
        latency: From a launch to the start of its activity on an idle queue.
    """

    gap: int
    graph_gap: int
    latency: int


def usual_delays(
    activities: GraphActivities, before: NDArray[np.int64], launched: Times, held: NDArray[np.int64]
) -> Delays:
    """Median delays over the recording.

    Args:
        activities: The activities.
        before: int64[n], what each follows.
        launched: int64[n], when its launch was done, -1 if unknown.
        held: Activities that wait for something else, too.
    """
    plain = (before >= 0) & (launched >= 0)
    plain[held] = False
    after = np.flatnonzero(plain)
    free = activities.end[before[after]]
    start, ready = activities.ts[after], launched[after]
    together = activities.in_graph[after] & (activities.launch[after] == activities.launch[before[after]])
    queued, idle = (ready + _LATENCY_NS < free) & ~together, free < ready
    gaps = start - free
    return Delays(
        _median(gaps[queued & (gaps >= 0)], _GAP_NS),
        _median(gaps[together & (gaps >= 0)], _GAP_NS),
        _median((start - ready)[idle & (start >= ready)], _LATENCY_NS),
    )


def _median(values: Times, otherwise: int) -> int:
    usual = int(np.median(values)) if values.size else otherwise
    return usual if usual <= _SLOWEST_NS else otherwise
