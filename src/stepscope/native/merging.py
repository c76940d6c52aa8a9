"""Join short neighbours (`source/merge.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: The type of each column of entries.
COLUMNS = (np.int64, np.int64, np.int64, np.int32, np.int32, np.int64, np.uint16)


def merge(level: int, columns: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The columns of entries, in which short neighbours of a lane that start in the same bucket are one.

    Args:
        level: Buckets are `2 ** level` ns wide; 0 to 62. What is shorter is short.
        columns: Of n entries, by lane and start: start, latest end, time, how many events they have, the longest of
            these, its duration, and the lane; of the types `COLUMNS`.
    """
    with borrowed() as instance:
        given = [instance.put(column.astype(kind, copy=False)) for column, kind in zip(columns, COLUMNS, strict=True)]
        number = instance.call("merge", columns[0].size, level, *given)
        return [column.array[:number].copy() for column in given]
