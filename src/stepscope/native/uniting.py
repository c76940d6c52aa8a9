"""Unite intervals of groups (`source/unite.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unite(
    group: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Group, starts and ends of the disjoint maximal intervals that cover the same instants of each group.

    Args:
        group: int32[n], of each interval; those of a group follow each other.
        starts: int64[n], ascending within a group.
        ends: int64[n]; an interval that does not end after its start is empty.
    """
    with borrowed() as instance:
        given = [instance.put(column) for column in (group.astype(np.int32, copy=False), starts, ends)]
        number = instance.call("unite", starts.size, *given)
        groups, heads, tails = given
        return groups.array[:number].copy(), heads.array[:number].copy(), tails.array[:number].copy()
