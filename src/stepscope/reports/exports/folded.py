"""Folded stacks, one line `frame;frame;frame nanoseconds` each: what flame graph tools read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.tree import self_time
from stepscope.model.trace import Trace
from stepscope.reports.text import visible

Time = Literal["host", "device"]

#: Later than any moment of a recording, ns.
_NEVER: Final = (1 << 63) - 1
_HOST_SQL: Final = """
SELECT s.id, coalesce(s.parent, -1) AS parent, s.name_id, s.depth, coalesce(s.dur, 0) AS dur, s.ts
FROM spans s JOIN tracks t USING (track) WHERE t.kind = 'host' AND s.depth IS NOT NULL ORDER BY s.depth, s.id
"""
_DEVICE_SQL: Final = """
SELECT coalesce(k.launch, k.op, -1) AS host, s.name_id, sum(k.dur)::BIGINT AS dur,
    min(k.ts) AS ts
FROM kernels k JOIN spans s ON s.id = k.event WHERE k.kind <> 'sync' GROUP BY ALL ORDER BY ALL
"""


def lines(trace: Trace, time: Time) -> Iterator[str]:
    """The stacks of one rank with the time spent in them, in ns.

    Args:
        trace: The trace of one rank.
        time: `host`: time of each host frame less that of its children. `device`: time of kernels, copies and memsets
            under the host frames that launched them, or alone if their launch is unknown.
    """
    named = trace.rows("SELECT name_id, name FROM names")
    frames = {row["name_id"]: _frame(row["name"]) for row in named}
    paths, totals = stacks(trace, time)
    for number, total in enumerate(totals):
        if total > 0:
            yield f"{';'.join(frames[name] for name in paths.names(number))} {total}\n"


def stacks(trace: Trace, time: Time) -> tuple[StackPaths, list[int]]:
    """The stacks of one rank as a tree of frames, and the time spent in each frame itself, in ns; see `lines`."""
    paths, totals, _ = timed_stacks(trace, time)
    return paths, totals


def timed_stacks(trace: Trace, time: Time) -> tuple[StackPaths, list[int], list[int]]:
    """The same, and when each frame was first there, ns since the origin; `_NEVER` for those only around others."""
    rows = trace.columns(_HOST_SQL)
    paths = StackPaths()
    path = _paths(rows, paths)
    if time == "host":
        parent = _positions(rows["id"], rows["parent"])
        spent = self_time(rows["dur"], parent)
        totals = _sums(path, spent, len(paths))
        first = _firsts(path, rows["ts"], len(paths))
    else:
        work = trace.columns(_DEVICE_SQL)
        host = _positions(rows["id"], work["host"])
        above = np.where(host < 0, -1, path[host] if path.size else -1)
        leaf = paths.below(above, work["name_id"])
        totals = _sums(leaf, work["dur"], len(paths))
        first = _firsts(leaf, work["ts"], len(paths))
    return paths, totals, first


class StackPaths:
    """Distinct stacks, each one frame below another: a tree that grows level by level."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._name: list[int] = []
        self._known: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._name)

    def frame(self, number: int) -> tuple[int, int]:
        """The stack that a stack is below, -1 for none, which has a smaller number, and its own name."""
        return self._parent[number], self._name[number]

    def below(self, parent: NDArray[np.int64], name: NDArray[np.int64]) -> NDArray[np.int64]:
        """The stack of each frame `name` below the stack `parent` (-1 for none), made where it is new."""
        if not parent.size:
            return np.zeros(0, np.int64)
        pairs, index = np.unique(np.stack((parent, name.astype(np.int64)), axis=1), axis=0, return_inverse=True)
        numbers = np.array([self._number(above, frame) for above, frame in pairs.tolist()], np.int64)
        return numbers[index.reshape(-1)]

    def names(self, number: int) -> list[int]:
        """Names of the frames of a stack, outermost first."""
        found = []
        while number >= 0:
            found.append(self._name[number])
            number = self._parent[number]
        return found[::-1]

    def _number(self, parent: int, name: int) -> int:
        key = (parent, name)
        if key not in self._known:
            self._known[key] = len(self._name)
            self._parent.append(parent)
            self._name.append(name)
        return self._known[key]


def _paths(rows: dict[str, NDArray[np.int64]], paths: StackPaths) -> NDArray[np.int64]:
    """The stack of each host event; a parent that was filtered away is left out."""
    path = np.full(rows["id"].size, -1, np.int64)
    parent = _positions(rows["id"], rows["parent"])
    stops = np.cumsum(np.bincount(rows["depth"], minlength=1)).tolist()
    for low, high in pairwise([0, *stops]):
        above = parent[low:high]
        path[low:high] = paths.below(np.where(above < 0, -1, path[above]), rows["name_id"][low:high])
    return path


def _positions(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each wanted id in `ids`, -1 where it is not there."""
    if not ids.size:
        return np.full(wanted.size, -1, np.int64)
    order = np.argsort(ids)
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), ids.size - 1)
    found = order[at]
    return np.where(ids[found] == wanted, found, -1)


def _sums(path: NDArray[np.int64], values: NDArray[np.int64], size: int) -> list[int]:
    """Exact sums by path."""
    totals = np.zeros(size, np.int64)
    np.add.at(totals, path, values)
    listed: list[int] = totals.tolist()
    return listed


def _firsts(path: NDArray[np.int64], values: NDArray[np.int64], size: int) -> list[int]:
    """The least value by path."""
    least = np.full(size, _NEVER, np.int64)
    np.minimum.at(least, path, values)
    listed: list[int] = least.tolist()
    return listed


def _frame(name: str) -> str:
    """A name without separators, so that it can't be parsed as two frames or a count."""
    return visible(name).replace(";", ":").strip() or "(no name)"
