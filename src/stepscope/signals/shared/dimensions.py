"""Sizes of GEMMs, from the recorded shapes of their inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from stepscope.signals.shared.tensor_shapes import tensors

#: Rows and columns of the result per block of a good GEMM.
_TILE: Final = 128


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Sizes of `batch` GEMMs of m x k by k x n."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def flops(self) -> int:
        """FLOPs of these GEMMs: a multiplication and an addition per inner term."""
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def tiles(self) -> int:
        """Number of tiles of the result that good kernels compute, one block each; 1 per SM or CU fills a device."""
        return self.batch * -(-self.m // _TILE) * -(-self.n // _TILE)


@lru_cache(maxsize=65_536)
def dimensions(shapes: str) -> Dimensions | None:
    """The GEMM's sizes, from the recorded shapes of its inputs; None if these are not a GEMM's."""
    found = [dims for dims in tensors(shapes) if len(dims) >= 2]
    # The factors come last: before them stands what is added, behind them at most what is written to.
    for left, right in pairwise(found):
        if left[-1] == right[-2] and left[:-2] == right[:-2]:
            return Dimensions(math.prod(left[:-2]), left[-2], right[-1], left[-1])
    for left, right in pairwise(found):
        if len(right) == 2 and right[0] == left[-1]:
            return Dimensions(1, math.prod(left[:-1]), right[1], left[-1])
        if len(right) == 2 and right[1] == left[-1]:  # a linear layer keeps its weight transposed
            return Dimensions(1, math.prod(left[:-1]), right[0], left[-1])
    return None
