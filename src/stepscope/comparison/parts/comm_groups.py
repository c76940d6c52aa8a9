"""Exposed communication by group of ranks, and how much of it several groups do at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
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
_PLANES_SQL: Final = """
SELECT t.collective, t.plane, t.kind, d.ts, d.dur FROM comm_tasks t JOIN spans d ON d.id = t.event
WHERE t.collective IS NOT NULL AND t.plane IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class GroupTimes:
    """Exposed communication of one device.

    Attributes:
        ns: Of each group, by its number; groups are numbered in the order of their first collectives.
        overlapped: In which at least two groups communicate.
        waits: Time of each group's in which all planes that it moves data on wait for others; None where the parts of
            its collectives are not recorded.
    """

    ns: tuple[int, ...]
    overlapped: int
    waits: tuple[int | None, ...] = ()


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


def plane_waits(side: ComparedSide) -> dict[int, list[tuple[int, int, int]]]:
    """By event of a collective its parts on planes: plane, start and end of a wait; of others start and end are 0."""
    found: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for row in side.trace.rows(_PLANES_SQL):
        window = (row["ts"], row["ts"] + row["dur"]) if row["kind"] == "wait" else (0, 0)
        found[row["collective"]].append((row["plane"], *window))
    return dict(found)


def group_times(
    work: DeviceWork,
    mine: NDArray[np.bool_],
    group: NDArray[np.int64],
    exposed: Intervals,
    parts: Mapping[int, Sequence[tuple[int, int, int]]],
) -> GroupTimes:
    """Exposed communication by group.

    Args:
        work: A rank's activities.
        mine: bool[n], those of the device.
        group: int64[n], from `group_numbers`.
        exposed: Time of the device in which there is communication and no compute.
        parts: From `plane_waits`.
    """
    busy, waits = [], []
    for number in range(int(group.max(initial=-1)) + 1):
        chosen = mine & (group == number)
        busy.append(Intervals.union_of(work.ts[chosen], work.ts[chosen] + work.dur[chosen]) & exposed)
        waits.append(_waited([one for event in work.event[chosen].tolist() for one in parts.get(event, ())], busy[-1]))
    whole = Intervals.union_of_all(busy).total if busy else 0
    starts, ends = (np.concatenate([getattr(one, side) for one in busy] or [np.zeros(0, np.int64)])
                    for side in ("starts", "ends"))  # fmt: skip
    at = np.append(starts, ends)
    order = np.argsort(at, kind="stable")
    running = np.cumsum(np.repeat([1, -1], starts.size)[order])
    once = int(np.diff(at[order])[running[:-1] == 1].sum()) if at.size else 0
    return GroupTimes(tuple(one.total for one in busy), whole - once, tuple(waits))


def _waited(parts: Sequence[tuple[int, int, int]], busy: Intervals) -> int | None:
    """The wait of the plane that waits least; None without any plane."""
    planes: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for plane, start, end in parts:
        planes[plane].append((start, end))
    waits = [Intervals.union_of(*map(list, zip(*windows, strict=True))) & busy for windows in planes.values()]
    return min((one.total for one in waits), default=None)
