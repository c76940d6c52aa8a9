"""Runs of short events (`source/runs.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.native.instance import borrowed
from stepscope.native.merging import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Levels of which runs are counted: buckets are up to `2 ** 63` ns wide.
_LEVELS: Final = 64


def count_runs(
    ts: NDArray[np.int64], dur: NDArray[np.int64], lane: NDArray[np.uint16], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many entries n events are at each level, int64[64], and the latest end of a lane's up to each one, int64[n].

    Args:
        ts: int64[n], starts, ascending within a lane.
        dur: int64[n], not negative.
        lane: uint16[n], ascending.
        size: Events that are looked at together.
    """
    columns: tuple[NDArray[Any], ...] = (ts, dur, lane)
    number, reach = ts.size, np.empty(ts.size, np.int64)
    at_once = max(min(size, number), 1)
    if not number:
        return np.zeros(_LEVELS, np.int64), reach
    reach[0] = ts[0] + dur[0]
    with borrowed() as instance:
        joined = instance.put(np.zeros(_LEVELS + 1, np.int64))
        given = [instance.room(column.dtype, at_once + 1) for column in columns]
        reached = instance.room(np.int64, at_once + 1)
        for first in range(1, number, at_once):
            some = min(at_once, number - first)
            for place, column in zip(given, columns, strict=True):
                place.array[: some + 1] = column[first - 1 : first + some]
            reached.array[0] = reach[first - 1]
            instance.call("count_runs", some, *given, joined, reached)
            reach[first : first + some] = reached.array[1 : some + 1]
        return number - np.cumsum(joined.array[:_LEVELS]), reach


def runs(
    level: int, ts: NDArray[np.int64], dur: NDArray[np.int64], lane: NDArray[np.uint16], number: int, size: int
) -> list[NDArray[Any]]:
    """The columns of the entries of events, as `merge` makes them of each event alone.

    Args:
        level: Buckets are `2 ** level` ns wide; 0 to 62.
        ts: int64[n], starts, ascending within a lane.
        dur: int64[n], not negative.
        lane: uint16[n], ascending.
        number: How many entries there are.
        size: Events that are looked at together.
    """
    columns: tuple[NDArray[Any], ...] = (ts, dur, lane)
    at_once, last = max(min(size, ts.size), 1), -1
    with borrowed() as instance:
        given = [instance.room(column.dtype, at_once) for column in columns]
        found = [instance.room(kind, number) for kind in COLUMNS]
        for first in range(0, ts.size, at_once):
            some = min(at_once, ts.size - first)
            for place, column in zip(given, columns, strict=True):
                place.array[:some] = column[first : first + some]
            last = instance.call("runs", some, level, first, *given, last, *found)
        return [column.array.copy() for column in found]
