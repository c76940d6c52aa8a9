"""Enclosing events of nested rows: parent, operator, module, step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Enclosing events of the n rows of a batch, as positions in it; -1 stands for none.

    Attributes:
        depth: int32[n], 0 is outermost.
        parent: int64[n], innermost enclosing event.
        op: int64[n], innermost enclosing operator, or the row itself.
        module: int64[n], innermost enclosing module or annotation, or the row itself.
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
