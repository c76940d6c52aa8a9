"""Exposed communication by group of ranks, and how much of it several groups do at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.side import ComparedSide
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals

_GROUPS_SQL: Final = """
SELECT c.event, c."group" FROM collectives c JOIN kernels k USING (event) WHERE c."group" IS NOT NULL
ORDER BY k.ts, c.event
"""


@dataclass(frozen=True, slots=True)
class GroupTimes:
    """Exposed communication of one device.

    Attributes:
        ns: Of each group, by its number; groups are numbered in the order of their first collectives.
        overlapped: In which at least two groups communicate.
    """

    ns: tuple[int, ...]
    overlapped: int


def group_numbers(side: ComparedSide, work: DeviceWork) -> NDArray[np.int64]:
    """The number of each activity's group, int64[n]; -1 for none."""
    rows = {row["event"]: row["group"] for row in side.trace.rows(_GROUPS_SQL)}
    numbers = {name: i for i, name in enumerate(dict.fromkeys(rows.values()))}
    found = np.full(work.event.size, -1, np.int64)
    for position in np.flatnonzero(work.are("comm")).tolist():
        name = rows.get(int(work.event[position]))
        if name is not None:
            found[position] = numbers[name]
    return found


def group_times(work: DeviceWork, mine: NDArray[np.bool_], group: NDArray[np.int64], exposed: Intervals) -> GroupTimes:
    """Exposed communication by group.

    Args:
        work: A rank's activities.
        mine: bool[n], those of the device.
        group: int64[n], from `group_numbers`.
        exposed: Time of the device in which there is communication and no compute.
    """
    busy = []
    for number in range(int(group.max(initial=-1)) + 1):
        chosen = mine & (group == number)
        busy.append(Intervals.union_of(work.ts[chosen], work.ts[chosen] + work.dur[chosen]) & exposed)
    whole = Intervals.union_of_all(busy).total if busy else 0
    starts, ends = (np.concatenate([getattr(one, side) for one in busy] or [np.zeros(0, np.int64)])
                    for side in ("starts", "ends"))  # fmt: skip
    at = np.append(starts, ends)
    order = np.argsort(at, kind="stable")
    running = np.cumsum(np.repeat([1, -1], starts.size)[order])
    once = int(np.diff(at[order])[running[:-1] == 1].sum()) if at.size else 0
    return GroupTimes(tuple(one.total for one in busy), whole - once)
