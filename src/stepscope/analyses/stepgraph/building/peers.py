"""Split collectives into waiting for other ranks and moving data.

A rank's recording holds when a collective started and ended there; in between it waited for the last rank, and then
data moved. Where one ended and the other started is not recorded. But more data take longer, by at most the ratio of
sizes: the fastest collective for its size bounds the transfer time of all others of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import device_activities
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_COLLECTIVES_SQL = """
SELECT event, collective, "group", coalesce(bytes, 0) AS bytes FROM collectives ORDER BY event
"""


@dataclass(frozen=True, slots=True)
class Peers:
    """The m collectives of the graph that waited for other ranks.

    Attributes:
        activity: int64[m], positions in `GraphActivities`.
        wait: int64[m], how long each waited.
    """

    activity: NDArray[np.int64]
    wait: Times


def waits_for_peers(trace: Trace, activities: GraphActivities) -> Peers:
    """Collectives that waited for other ranks, and for how long."""
    mine = np.flatnonzero(activities.kind == device_activities.COMM)
    known = trace.columns(_COLLECTIVES_SQL)
    if not mine.size or not known["event"].size:
        none = np.zeros(0, np.int64)
        return Peers(none, none)
    at = np.minimum(np.searchsorted(known["event"], activities.event[mine]), known["event"].size - 1)
    found = known["event"][at] == activities.event[mine]
    mine, at = mine[found], at[found]
    kind, group, size = known["collective"][at], known["group"][at], known["bytes"][at].astype(np.int64)
    took = activities.end[mine] - activities.ts[mine]
    moving = took.copy()
    _, groups = np.unique(group.astype(str), return_inverse=True)
    _, kinds = np.unique(kind.astype(str), return_inverse=True)
    key = groups * (int(kinds.max(initial=0)) + 1) + kinds
    for one in np.unique(key).tolist():
        same = key == one
        moving[same] = quickest(size[same], took[same])
    wait = took - moving
    return Peers(mine[wait > 0], wait[wait > 0])


def moving_ns(peers: Peers, activities: GraphActivities) -> Times:
    """Transfer time of each collective; of other activities their duration. int64[activities]."""
    moving: Times = activities.end - activities.ts
    moving[peers.activity] -= peers.wait
    return moving


def quickest(size: NDArray[np.int64], took: Times) -> Times:
    """Upper bound on the transfer time of each collective, int64[n] ns.

    The shortest time of each size bounds all smaller sizes as it is, and larger ones in proportion to their size.
    """
    sizes, index = np.unique(size, return_inverse=True)
    least = np.full(sizes.size, np.iinfo(np.int64).max)
    np.minimum.at(least, index, took)
    if sizes[0] <= 0:  # nothing is known of the size
        return np.asarray(least[index], np.int64)
    ratio = np.maximum(sizes[:, None] / sizes[None, :], 1.0)
    bound = (least[None, :] * ratio).min(axis=1).astype(np.int64)
    quickest: Times = np.minimum(bound[index], took)
    return quickest
