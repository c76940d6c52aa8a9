"""Events as the times of groups (`source/states.c`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Starts and ends of some intervals.
Part = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
#: Names are told apart by this many classes.
CLASSES: Final = 8


@dataclass(frozen=True, slots=True)
class StateTables:
    """What tells the group of an event: the kind of its thread, or the last group for a kind that is the same on all.

    Attributes:
        kinds: int8[categories, CLASSES], the kind by category and class of the name, below `width`; -1 for none.
        classes: uint8[names], the class of each name; of names behind them it is 0.
        places: int32[tracks], which thread each track is; -1 for none, as for tracks behind them.
        threads: How many there are.
        width: Kinds of a thread.
        everywhere: The kind that is the same on all tracks.
    """

    kinds: NDArray[np.int8]
    classes: NDArray[np.uint8]
    places: NDArray[np.int32]
    threads: int
    width: int
    everywhere: int


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Columns of n events.

    Attributes:
        category: int8[n]; those of a negative one are left out.
        ts: int64[n], start.
        dur: int64[n]; those that do not last are left out.
        name: int32[n].
        track: int32[n].
    """

    category: NDArray[np.int8]
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    name: NDArray[np.int32]
    track: NDArray[np.int32]


def states(tables: StateTables, events: EventColumns, size: int) -> tuple[list[list[Part]], NDArray[np.bool_]]:
    """Intervals that cover the times of the events of each group, in parts, and which groups are unsorted.

    Intervals of a group are disjoint, do not touch and ascend, but of groups in which an event starts before an earlier
    one, bool[groups].

    Args:
        tables: What tells groups.
        events: The events; those of a group by start, where that is so in the recording.
        size: Events that are looked at together.
    """
    columns: tuple[NDArray[Any], ...] = (events.category, events.ts, events.dur, events.name, events.track)
    number, groups, at_once = events.ts.size, tables.threads * tables.width + 1, max(min(size, events.ts.size), 1)
    found: list[list[Part]] = [[] for _ in range(groups)]
    with borrowed() as instance:
        kinds, classes, places = (instance.put(one) for one in (tables.kinds, tables.classes, tables.places))
        told = (kinds, classes.size, classes, places.size, places, tables.width, tables.everywhere, groups)
        never = np.full(groups, np.iinfo(np.int64).min)
        since, until, back = instance.put(never), instance.put(never), instance.put(np.zeros(groups, np.uint8))
        given = [instance.room(column.dtype, at_once) for column in columns]
        group, starts, ends = instance.room(np.int32, at_once), *(instance.room(np.int64, at_once) for _ in range(2))
        for first in range(0, number, at_once):
            some = min(at_once, number - first)
            for place, column in zip(given, columns, strict=True):
                place.array[:some] = column[first : first + some]
            closed = instance.call("states", some, *given, *told, since, until, back, group, starts, ends)
            _append(found, group.array[:closed], starts.array, ends.array)
        for one in np.flatnonzero(until.array > since.array).tolist():
            found[one].append((since.array[one : one + 1].copy(), until.array[one : one + 1].copy()))
        return found, back.array.astype(np.bool_)


def _append(
    found: list[list[Part]], group: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> None:
    """Append intervals to those of their groups, in the order that they are in."""
    few = len(found) <= np.iinfo(np.int16).max
    order = np.argsort(group.astype(np.int16) if few else group, kind="stable")  # 16 bits sort by radix
    edges = np.flatnonzero(np.diff(group[order])) + 1
    for mine in np.split(order, edges) if order.size else []:
        found[int(group[mine[0]])].append((starts[mine], ends[mine]))
