"""Nest intervals (`source/nest.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def nest(
    ts: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Depth int32[n], parent int64[n] (-1 if there is none) and clipped end int64[n] of each interval.

    Args:
        ts: int64[n], starts, ascending.
        end: int64[n], ends, not before the starts, and descending among equal starts.
    """
    with borrowed() as instance:
        starts, ends = instance.put(ts), instance.put(end)
        depth, parent, open_ = (instance.room(np.int32, ts.size) for _ in range(3))
        instance.call("nest", ts.size, starts, ends, depth, parent, open_)
        return depth.array.copy(), parent.array.astype(np.int64), ends.array.copy()
