"""Divide time among layers (`source/divide.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def divide(
    lanes: int, first: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64], lo: int, hi: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """How many parts there are up to each lane's last int32[lanes], starts int64[n] and layers int32[n] of the parts.

    The parts of a lane tile [lo, hi). Each instant belongs to the lane's first layer that covers it, or to one behind
    the last if none does; neighbours differ.

    Args:
        lanes: How many there are, at least one; each has as many layers.
        first: int32[lanes * layers + 1], where the intervals of each layer of each lane begin, and where the last ends.
        starts: int64[m], ascending within a layer.
        ends: int64[m]; intervals of a layer neither overlap nor touch.
        lo: Start of what is divided.
        hi: Its end; nothing is divided where it is not after the start.
    """
    most = 2 * starts.size + lanes
    with borrowed() as instance:
        given = (instance.put(first), instance.put(first), instance.put(starts), instance.put(ends), lo, hi)
        behind, heads = instance.room(np.int32, lanes), instance.room(np.int64, most)
        labels = instance.room(np.int32, most)
        instance.call("divide", lanes, (first.size - 1) // lanes, *given, behind, heads, labels)
        parts = int(behind.array[-1])
        return behind.array.copy(), heads.array[:parts].copy(), labels.array[:parts].copy()
