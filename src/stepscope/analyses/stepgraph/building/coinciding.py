"""Find activities that wait for work of another queue, from times that coincide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.delays import Delays
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities
from stepscope.analyses.stepgraph.building.events import Pairs, rounding_ns
from stepscope.model.intervals import Times

#: An activity that starts this many usual latencies after it could have must have waited for something.
_LATE = 3
#: At most so long after what it waited for; or so long before that ends, since engines of a device do not share one
#: clock to the microsecond, and by no more than this part of the wait.
_SOON_NS = 10_000
_EARLY_NS = 15_000
_EARLY_SHARE = 10
#: Neighbours that are looked at for one of another queue.
_NEIGHBOURS = 8


def unexplained_waits(activities: GraphActivities, ready: NDArray[np.int64], delays: Delays) -> Pairs:
    """Late activities that start as one of another queue ends, which they probably waited for.

    Args:
        activities: The activities.
        ready: int64[n], when each could have started for all that is known.
        delays: Usual delays.
    """
    waited = activities.ts - ready
    late = np.flatnonzero(waited > _LATE * delays.latency)
    early = np.clip(waited[late] // _EARLY_SHARE, rounding_ns(activities), _EARLY_NS)
    late, source = last_of_others(activities, late, activities.ts[late] + early)
    soon = activities.ts[late] - activities.end[source] <= _SOON_NS
    real = soon & (activities.end[source] > ready[late])
    return late[real], source[real]


def last_of_others(
    activities: GraphActivities, those: NDArray[np.int64], until: Times, among: NDArray[np.bool_] | None = None
) -> Pairs:
    """Those of the given activities before which one of another queue ended by a given time, and the last such.

    Args:
        activities: The activities.
        those: int64[m], positions.
        until: int64[m], the moments.
        among: bool[n], which may be found; all if None.
    """
    by_end = np.argsort(activities.end, kind="stable")
    by_end = by_end if among is None else by_end[among[by_end]]
    last = np.searchsorted(activities.end[by_end], until, side="right") - 1
    for _ in range(_NEIGHBOURS):
        own = np.flatnonzero(last >= 0)
        own = own[activities.track[by_end[last[own]]] == activities.track[those[own]]]
        if not own.size:
            break
        last[own] -= 1
    those, last = those[last >= 0], last[last >= 0]
    found = by_end[last]
    other = activities.track[found] != activities.track[those]
    return those[other], found[other]
