"""Explain gaps of queues without recorded launches by communication that ends in them.

With a recorded host, launches explain why a queue was empty. Without one, a queue that resumes after a collective or
send has ended, and did nothing since before it, needed its result; the rest of the gap is the host's. Communication in
turn needs what ended last before it started.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import device_activities
from stepscope.analyses.stepgraph.building.coinciding import last_of_others
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities
from stepscope.analyses.stepgraph.building.events import rounding_ns
from stepscope.model.intervals import Times

_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Spanned:
    """The m gaps explained by communication.

    Attributes:
        target: int64[m], positions of the activities after the gaps.
        source: int64[m], what they waited for.
        rest: int64[m], what the gap goes on for after that.
    """

    target: NDArray[np.int64]
    source: NDArray[np.int64]
    rest: Times


def spanned_gaps(
    activities: GraphActivities, before: NDArray[np.int64], launched: NDArray[np.bool_], gap: int
) -> Spanned:
    """Explain gaps before activities whose launch is not known.

    Args:
        activities: The n activities.
        before: int64[n], what each follows on its queue, -1 for the first.
        launched: bool[n], whose launch is known.
        gap: Usual time between two activities of a queue.
    """
    free = np.where(before >= 0, activities.end[before], _NEVER)
    late = ~launched & (activities.ts - np.maximum(free, 0) > gap)
    comm = activities.kind == device_activities.COMM
    parts = [
        last_of_others(activities, those := np.flatnonzero(late & mine), activities.ts[those] + rounding, among)
        for rounding in (rounding_ns(activities),)
        for mine, among in ((~comm, comm), (comm, None))
    ]
    target, source = (np.concatenate(column) for column in zip(*parts, strict=True))
    inside = activities.end[source] > free[target]
    target, source = target[inside], source[inside]
    return Spanned(target, source, np.maximum(activities.ts[target] - activities.end[source], 0))
