"""Cut intervals along the tiles of their lanes (`source/cut.c`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Layers:
    """What intervals are cut along. Tiles are of all time, and those of a lane ascend.

    Attributes:
        behind: int32[lanes], number of tiles up to the last one of each lane.
        heads: int64[m], start of each tile of the lanes.
        states: int8[m], its state; -1 for none.
        since: int64[k], start of each delay; they ascend and lie apart.
        until: int64[k], its end.
        delayed: The state of delays.
        firsts: int64[j], start of each tile of all lanes together.
        common: int8[j], its state.
        number: What is added to states of all lanes together, to tell them from those of a lane.
    """

    behind: NDArray[np.int32]
    heads: NDArray[np.int64]
    states: NDArray[np.int8]
    since: NDArray[np.int64]
    until: NDArray[np.int64]
    delayed: int
    firsts: NDArray[np.int64]
    common: NDArray[np.int8]
    number: int


def cut(
    layers: Layers, lane: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]:
    """Starts, ends, interval and state of the parts of n intervals, by interval and then by time.

    Parts in no state, and in states above that of delays, give way to delays; what is left of those in none, to the
    tiles of all lanes together. Neighbours of an interval differ in state.

    Args:
        layers: What to cut along.
        lane: int32[n], lane of each interval.
        starts: int64[n].
        ends: int64[n]; intervals that do not end after their start have no parts.
    """
    with borrowed() as instance:
        put = instance.put
        given = (lane.size, put(lane), put(starts), put(ends))
        lanes = (layers.behind.size, put(layers.behind), instance.room(np.int32, layers.behind.size))
        tiles = (put(layers.heads), put(layers.states))
        delays = (layers.since.size, put(layers.since), put(layers.until), layers.delayed)
        together = (layers.firsts.size, put(layers.firsts), put(layers.common), layers.number)
        arguments = (*given, *lanes, *tiles, *delays, *together)
        number = instance.call("cut", *arguments, 0, 0, 0, 0, 0)
        kinds = (np.int64, np.int64, np.int32, np.uint8)
        heads, tails, interval, state = (instance.room(kind, number) for kind in kinds)
        instance.call("cut", *arguments, 1, heads, tails, interval, state)
        return heads.array.copy(), tails.array.copy(), interval.array.copy(), state.array.copy()
