"""What is around the events of nested threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of n rows of a batch of host threads, by their positions in it; -1 stands for none.

    Attributes:
        depth: int32[n], 0 is outermost.
        parent: int64[n], innermost event that encloses it.
        op: int64[n], innermost operator around it, or itself.
        module: int64[n], innermost module or annotation around it, or itself.
        step: int32[n], position among the steps.
    """

    depth: NDArray[np.int32]
    parent: NDArray[np.int64]
    op: NDArray[np.int64]
    module: NDArray[np.int64]
    step: NDArray[np.int32]


def nullable(values: NDArray[Any], missing: NDArray[np.bool_]) -> pa.Array:
    """An array with null where `missing` holds."""
    return pa.array(values, mask=missing)
