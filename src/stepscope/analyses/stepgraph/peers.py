"""How much of a collective is waiting for other ranks, and how that wait changes with the job.

A rank's recording holds when a collective began there and when it ended; in between it waited for the last rank to
come, and then data moved. Nothing tells where the one ended and the other began. But moving more data takes longer,
and not more than in proportion: what was quickest, for its size, bounds the time of all others of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph import rows
from stepscope.analyses.stepgraph.rows import Activities
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

#: A wait so many times as long as this rank had worked since the collective before does not come from that work.
_UNRELATED = 5

_COLLECTIVES_SQL = """
SELECT event, collective, "group", coalesce(bytes, 0) AS bytes FROM collectives ORDER BY event
"""


@dataclass(frozen=True, slots=True)
class Peers:
    """The m collectives of the graph that waited for other ranks.

    Attributes:
        activity: int64[m], positions in `Activities`.
        wait: int64[m], how long each waited.
        since: int64[m], the collective of the group before it, a position in `Activities`; -1 if it is the first.
        worked: int64[m], time from the end of that one to its own begin; 0 where the wait has nothing to do with it.
    """

    activity: NDArray[np.int64]
    wait: Times
    since: NDArray[np.int64]
    worked: Times


def waits_for_peers(trace: Trace, activities: Activities, lo: int) -> Peers:
    """Tell waiting from moving data in every collective."""
    mine = np.flatnonzero(activities.kind == rows.COMM)
    known = trace.columns(_COLLECTIVES_SQL)
    if not mine.size or not known["event"].size:
        none = np.zeros(0, np.int64)
        return Peers(none, none, none, none)
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
        moving[same] = _quickest(size[same], took[same])
    since = np.full(mine.size, -1)
    for one in np.unique(groups).tolist():
        same = np.flatnonzero(groups == one)
        since[same[1:]] = mine[same[:-1]]
    before = np.where(since >= 0, activities.end[since], lo)
    worked = np.maximum(activities.ts[mine] - before, 0)
    wait = took - moving
    worked[wait > _UNRELATED * worked] = 0
    waited = wait > 0
    return Peers(mine[waited], wait[waited], since[waited], worked[waited])


def moving_ns(peers: Peers, activities: Activities) -> Times:
    """Time in which each collective moved data; of any other activity, its duration. int64[activities]."""
    moving: Times = activities.end - activities.ts
    moving[peers.activity] -= peers.wait
    return moving


def _quickest(size: NDArray[np.int64], took: Times) -> Times:
    """The least time that moving each size can be shown to need, int64[n]."""
    sizes, index = np.unique(size, return_inverse=True)
    least = np.full(sizes.size, np.iinfo(np.int64).max)
    np.minimum.at(least, index, took)
    if sizes[0] <= 0:  # nothing is known of the size
        return np.asarray(least[index], np.int64)
    ratio = np.maximum(sizes[:, None] / sizes[None, :], 1.0)
    bound = (least[None, :] * ratio).min(axis=1).astype(np.int64)
    quickest: Times = np.minimum(bound[index], took)
    return quickest
