"""Reductions and softmax.

A reduction takes one operation per element of its input. A softmax takes five per element: find the maximum, subtract
it, exponentiate, sum, divide; its gradient four: multiply, sum, subtract, multiply (counted from their definitions).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from stepscope.model.opcost.call import CallArguments, OpCost
from stepscope.model.opcost.tensors import TensorArgument, nbytes, sizes

Cost = Callable[[CallArguments], OpCost | None]

_REDUCTIONS = "sum mean prod amax amin max min logsumexp nansum std var"
_SOFTMAX_FLOPS = 5
_SOFTMAX_GRADIENT_FLOPS = 4


def reduction(result: str | None = None) -> Cost:
    """A cost function for `op(x, dims?, keepdim?)`; `result` is the type of the result if not that of `x`."""

    def cost(call: CallArguments) -> OpCost | None:
        x = call.tensor(0)
        left = None if x is None else _left(call, x)
        if x is None or left is None:
            return None
        return OpCost(x.numel, x.nbytes, nbytes(left, result or x.dtype), "reduction")

    return cost


def norm(call: CallArguments) -> OpCost | None:
    """`linalg_vector_norm(x, ord, dims?)`: a multiplication and an addition per element."""
    x = call.tensor(0)
    if x is None:
        return None
    dims = call.integers(2)
    left = 1 if dims is None else _without(x, dims)
    return None if left is None else OpCost(2 * x.numel, x.nbytes, nbytes(left, x.dtype), "reduction")


def scan(call: CallArguments) -> OpCost | None:
    """`cumsum(x, dim)` and its kin, whose result is as large as the input."""
    x = call.tensor(0)
    return None if x is None else OpCost(x.numel, x.nbytes, x.nbytes, "reduction")


def softmax(call: CallArguments) -> OpCost | None:
    """`_softmax(x, dim, half_to_float)`."""
    x = call.tensor(0)
    return None if x is None else OpCost(_SOFTMAX_FLOPS * x.numel, x.nbytes, x.nbytes, "reduction")


def softmax_backward(call: CallArguments) -> OpCost | None:
    """`_softmax_backward_data(grad, result, dim, dtype)`."""
    grad, result = call.tensor(0), call.tensor(1)
    if grad is None or result is None:
        return None
    return OpCost(_SOFTMAX_GRADIENT_FLOPS * grad.numel, sizes((grad, result)), grad.nbytes, "reduction")


def _left(call: CallArguments, x: TensorArgument) -> int | None:
    """Elements of the result; None if dimensions were given that the recording does not say."""
    if call.tensor(1) is not None:
        # `max(a, b)` is no reduction.
        return None
    if len(call.shapes) == 1:
        return 1
    dims = call.integers(1)
    if dims is None and (single := call.integer(1)) is not None:
        dims = [single]
    if dims is not None:
        return _without(x, dims)
    # An empty value beside recorded ones is an absent optional: everything is reduced.
    return 1 if call.concrete else None


def _without(x: TensorArgument, dims: list[int]) -> int | None:
    rank = len(x.shape)
    if not dims:
        return 1
    if any(not -rank <= dim < rank for dim in dims):
        return None
    gone = {dim % rank for dim in dims}
    return math.prod(size for at, size in enumerate(x.shape) if at not in gone)


COSTS: dict[str, Cost] = {
    **{f"aten::{name}": reduction() for name in _REDUCTIONS.split()},
    **{f"aten::{name}": reduction("bool") for name in ("any", "all")},
    **{f"aten::{name}": reduction("int64") for name in ("argmax", "argmin")},
    "aten::linalg_vector_norm": norm,
    "aten::cumsum": scan,
    "aten::cumprod": scan,
    "aten::_softmax": softmax,
    "aten::_log_softmax": softmax,
    "aten::_softmax_backward_data": softmax_backward,
    "aten::_log_softmax_backward_data": softmax_backward,
}
