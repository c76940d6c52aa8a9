"""Lay a thread's events out in layers (`source/layers.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.native.instance import borrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Layers that are told apart.
LAYERS: Final = 4
#: Rows of a layer; events that more are around share the last one.
ROWS: Final = 512


def layers(
    ids: NDArray[np.int32], parents: NDArray[np.int32], layer: NDArray[np.int8]
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Positions of a thread's n events by layer, row and start, int32[m], and how many each row has.

    These numbers are int32[LAYERS, ROWS]. An event is in the row of how many events of its layer are around it. None
    where an event is not around those that follow it, up to the last that has it around.

    Args:
        ids: int32[n], of the events by start, outer ones first.
        parents: int32[n], id of the event around each one; -1 for none.
        layer: int8[n], below `LAYERS`; -1 for events of none.
    """
    with borrowed() as instance:
        placed, around, of = (instance.put(column) for column in (ids, parents, layer))
        meanwhile, number = instance.room(np.uint64, ids.size), instance.room(np.int32, LAYERS * ROWS)
        if instance.call("layers", ids.size, placed, around, of, meanwhile, number) < 0:
            return None
        order = placed.array[: int(number.array.sum())].copy()
        return order, number.array.reshape(LAYERS, ROWS).copy()
