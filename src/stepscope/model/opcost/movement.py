"""Operators that only move data: copies, fills, concatenation, table lookups.

A lookup reads its indices and the rows they name, at most the whole table: repeated rows come from a cache. The
gradient of a table adds one row per index and writes the whole table. `index` and `index_put_` have their indices in a
list, in which recordings have no element types: positions can't be distinguished from a mask, so they have no cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from stepscope.model.opcost.call import CallArguments, OpCost
from stepscope.model.opcost.tensors import TensorArgument, nbytes, sizes, total

Cost = Callable[[CallArguments], OpCost | None]


def copy_into(call: CallArguments) -> OpCost | None:
    """`copy_(target, source, non_blocking)`, across types and devices."""
    target, source = call.tensor(0), call.tensor(1)
    if target is None or source is None:
        return None
    return OpCost(0, source.nbytes, target.nbytes, "copy")


def to_copy(call: CallArguments) -> OpCost | None:
    """`_to_copy(x, dtype?, ...)`; without recorded values the result's type is unknown."""
    x = call.tensor(0)
    if x is None:
        return None
    if call.text(1) is not None:
        return OpCost(0, x.nbytes, nbytes(x.numel, call.scalar_type(1)), "copy")
    return OpCost(0, x.nbytes, x.nbytes if call.concrete else None, "copy")


def clone(call: CallArguments) -> OpCost | None:
    """`clone(x)`."""
    x = call.tensor(0)
    return None if x is None else OpCost(0, x.nbytes, x.nbytes, "copy")


def concatenate(call: CallArguments) -> OpCost | None:
    """`cat(tensors, dim)`: recordings have no element types inside a list, so the bytes are unknown."""
    return None if call.list_of_tensors(0) is None else OpCost(0, None, None, "copy")


def fill(call: CallArguments) -> OpCost | None:
    """`fill_(x, value)` and `zero_(x)`: nothing is read."""
    x = call.tensor(0)
    return None if x is None else OpCost(0, 0, x.nbytes, "elementwise")


def embedding(call: CallArguments) -> OpCost | None:
    """`embedding(weight[V, D], indices)`."""
    weight, indices = call.tensor(0), call.tensor(1)
    if weight is None or indices is None or not weight.shape:
        return None
    rows = nbytes(indices.numel * math.prod(weight.shape[1:]), weight.dtype)
    return OpCost(0, total([_least(rows, weight), indices.nbytes]), rows, "embedding")


def embedding_backward(call: CallArguments) -> OpCost | None:
    """`embedding_dense_backward(grad[..., D], indices, num_weights, ...)`."""
    grad, indices, rows = call.tensor(0), call.tensor(1), call.integer(2)
    if grad is None or indices is None or not grad.shape or rows is None or rows < 0:
        return None
    table = nbytes(rows * grad.shape[-1], grad.dtype)
    return OpCost(grad.numel, sizes((grad, indices)), table, "embedding")


def index_select(call: CallArguments) -> OpCost | None:
    """`index_select(x, dim, index)`; the dimension matters, as it says how large one entry is."""
    x, index, dim = call.tensor(0), call.tensor(2), call.integer(1)
    if x is None or index is None or not x.shape:
        return None
    if dim is None and len(x.shape) > 1:
        return None
    at = dim or 0
    if not -len(x.shape) <= at < len(x.shape) or not x.shape[at]:
        return None
    moved = nbytes(x.numel // x.shape[at] * index.numel, x.dtype)
    return OpCost(0, total([_least(moved, x), index.nbytes]), moved, "embedding")


def gather(call: CallArguments) -> OpCost | None:
    """`gather(x, dim, index)`: one element per index."""
    x, index = call.tensor(0), call.tensor(2)
    if x is None or index is None:
        return None
    moved = nbytes(index.numel, x.dtype)
    return OpCost(0, total([_least(moved, x), index.nbytes]), moved, "embedding")


def _least(moved: int | None, table: TensorArgument) -> int | None:
    """Bytes that a lookup must read from memory: what it names, at most the whole table."""
    return None if moved is None or table.nbytes is None else min(moved, table.nbytes)


COSTS: dict[str, Cost] = {
    "aten::copy_": copy_into,
    "aten::_to_copy": to_copy,
    "aten::clone": clone,
    "aten::cat": concatenate,
    "aten::fill_": fill,
    "aten::zero_": fill,
    "aten::embedding": embedding,
    "aten::embedding_dense_backward": embedding_backward,
    "aten::index_select": index_select,
    "aten::gather": gather,
}
