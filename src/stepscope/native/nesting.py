"""Nest intervals (`source/nest.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def nest(
    lane: NDArray[np.int32], ts: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Depth int32[n], parent int64[n] (-1 if there is none) and clipped end int64[n] of each interval.

    Args:
        lane: int32[n], intervals nest in others of their lane; those of a lane follow each other.
        ts: int64[n], starts, ascending within a lane.
        end: int64[n], ends, not before the starts, and descending among equal starts of a lane.
    """
    with borrowed() as instance:
        lanes, starts, ends = instance.put(lane), instance.put(ts), instance.put(end)
        depth, parent, open_ = (instance.room(np.int32, ts.size) for _ in range(3))
        instance.call("nest", ts.size, lanes, starts, ends, depth, parent, open_)
        return depth.array.copy(), parent.array.astype(np.int64), ends.array.copy()
