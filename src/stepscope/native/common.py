"""What several lanes do together (`source/common.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def common(
    main: int,
    behind: NDArray[np.int32],
    starts: Sequence[NDArray[np.int64]],
    states: Sequence[NDArray[np.int8]],
    number: int,
    inside: tuple[int, int],
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Starts int64[k] and states int8[k] of tiles of all time: the lowest state that any lane is in.

    Where none is in any, it is state `number` between two times of one lane other than the main one, `number` + 1
    elsewhere inside a range, and `number` + 2 outside of it. Neighbours differ.

    Args:
        main: The main lane.
        behind: int32[lanes], number of tiles up to the last one of each lane. The last lane stands for all others at
            once: its times are times of each of them.
        starts: int64[n] in parts, of tiles by lane, which are of all time; ascending within a lane.
        states: int8[n] in parts, the state of each tile, below `number`; -1 for none. Neighbours differ.
        number: Of states, at most 16.
        inside: Start and end of the range.
    """
    lanes = behind.size
    with borrowed() as instance:
        given = (instance.put(behind), instance.put_all(starts), instance.put_all(states))
        at, lane = instance.room(np.int32, lanes), instance.room(np.int32, lanes)
        since, ends = instance.room(np.int64, lanes), instance.room(np.int64, lanes)
        heads, found = (instance.room(kind, given[1].size + 4) for kind in (np.int64, np.int8))
        tiles = instance.call("common", lanes, main, *given, number, *inside, at, lane, since, ends, heads, found)
        return heads.array[:tiles].copy(), found.array[:tiles].copy()
