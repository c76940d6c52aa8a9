"""A call's tensors: their shapes, types and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stepscope.model import dtypes as types

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor argument: its shape, and its element type where that was recorded."""

    shape: Shape
    dtype: str | None

    @property
    def numel(self) -> int:
        """Number of elements; 1 for a scalar tensor."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int | None:
        """Bytes of the elements; None if their type is not recorded."""
        return nbytes(self.numel, self.dtype)


def nbytes(numel: int, dtype: str | None) -> int | None:
    """Bytes of `numel` elements; None if the type is unknown."""
    size = types.itemsize(dtype)
    return None if size is None else numel * size


def total(parts: Sequence[int | None]) -> int | None:
    """Their sum; None if one of them is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def sizes(tensors: Sequence[TensorArgument | None]) -> int | None:
    """Bytes of the tensors that are not None; None if a type is unknown."""
    return total([tensor.nbytes for tensor in tensors if tensor is not None])
