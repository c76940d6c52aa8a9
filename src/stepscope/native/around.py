"""Count what is around the events of a tree (`source/around.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def around(parent: NDArray[np.int32], member: NDArray[np.bool_], most: int) -> NDArray[np.uint16]:
    """How many members are around each of n events, uint16[n], at most `most`.

    Args:
        parent: int32[n], position of the event around each one, always before it; -1 for none.
        member: bool[n], which count.
        most: The largest number that is told apart, below 65,536.
    """
    with borrowed() as instance:
        parents, members = instance.put(parent.astype(np.int32, copy=False)), instance.put(member.view(np.uint8))
        found = instance.room(np.uint16, parent.size)
        instance.call("around", parent.size, parents, members, most, found)
        lanes: NDArray[np.uint16] = found.array.copy()
        return lanes
