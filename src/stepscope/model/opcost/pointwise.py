"""Elementwise operators: one operation per element of the result, whatever the function.

The result has the shape the tensor arguments broadcast to, and their widest type unless the operator compares. An
in-place operator (trailing underscore) writes its first argument. A tensor after the arguments of the operator's
signature is where the result goes (`out=`): it is written and not read. The time of such an operator is that of its
bytes: at a fraction of an operation per byte no device is limited by the arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from stepscope.model import dtypes as types
from stepscope.model.opcost.call import CallArguments, OpCost
from stepscope.model.opcost.gemm import broadcast
from stepscope.model.opcost.tensors import Shape, TensorArgument, nbytes, sizes

Cost = Callable[[CallArguments], OpCost | None]

_COMPARISONS = "eq ne lt le gt ge logical_and logical_or logical_not logical_xor isnan isinf isfinite"
_FUNCTIONS = """
abs acos add addcdiv addcmul asin atan atan2 bitwise_and bitwise_not bitwise_or bitwise_xor ceil celu clamp
clamp_max clamp_min cos cosh digamma div elu erf erfc erfinv exp exp2 expm1 floor floor_divide fmod gelu
hardsigmoid hardswish hardtanh leaky_relu lerp lgamma log log10 log1p log2 logaddexp logit masked_fill maximum
minimum mish mul multiply nan_to_num neg pow prelu reciprocal relu relu6 remainder round rsqrt rsub sgn sigmoid
sign silu sin sinh softplus softshrink sqrt square sub tan tanh threshold tril triu trunc where xlogy
elu_backward gelu_backward hardsigmoid_backward hardswish_backward hardtanh_backward leaky_relu_backward
logit_backward mish_backward native_dropout_backward sigmoid_backward silu_backward softplus_backward
tanh_backward threshold_backward
"""
#: Arguments before `out` in the signatures of native_functions.yaml, of operators that have more than their tensors.
_ARGUMENTS = {
    2: """
        atan2 bitwise_and bitwise_or bitwise_xor celu clamp_max clamp_min div eq floor_divide fmod ge gelu gt
        hardsigmoid_backward hardswish_backward le leaky_relu logaddexp logical_and logical_or logical_xor logit lt
        maximum minimum mish_backward mul multiply ne pow prelu remainder round sigmoid_backward silu_backward
        softshrink tanh_backward tril triu xlogy
    """,
    3: """
        add clamp gelu_backward hardtanh lerp logit_backward masked_fill native_dropout_backward rsub softplus sub
        threshold threshold_backward where
    """,
    4: "addcdiv addcmul elu hardtanh_backward leaky_relu_backward nan_to_num",
    5: "softplus_backward",
    6: "elu_backward",
}
_PLACE_OF_OUT = {name: number for number, names in _ARGUMENTS.items() for name in names.split()}
_RANK = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("fp8", "fp16", "bf16", "fp32", "fp64", "complex64", "complex128"),
)


def elementwise(arguments: int, *, booleans: bool = False) -> Cost:
    """The cost of a function of tensors and numbers that makes a new tensor, or fills one given after `arguments`."""

    def cost(call: CallArguments) -> OpCost | None:
        tensors = [tensor for tensor in map(call.tensor, range(arguments)) if tensor is not None]
        shape = _common_shape(tensors)
        if shape is None:
            return None
        numel = math.prod(shape)
        out = call.tensor(arguments)
        dtype = out.dtype if out is not None else "bool" if booleans else _widest(tensors)
        return OpCost(numel, sizes(tensors), nbytes(numel, dtype), "elementwise")

    return cost


def in_place(call: CallArguments) -> OpCost | None:
    """A function that writes its first argument."""
    target = call.tensor(0)
    if target is None:
        return None
    return OpCost(target.numel, sizes(call.tensors()), target.nbytes, "elementwise")


def dropout(call: CallArguments) -> OpCost | None:
    """`native_dropout(x, p, train)`: the scaled result and a mask of booleans."""
    x = call.tensor(0)
    if x is None or x.nbytes is None:
        return None
    return OpCost(x.numel, x.nbytes, x.nbytes + x.numel, "elementwise")


def _common_shape(tensors: Sequence[TensorArgument]) -> Shape | None:
    if not tensors:
        return None
    shape: Shape | None = ()
    for tensor in tensors:
        shape = None if shape is None else broadcast(shape, tensor.shape)
    return shape


def _widest(tensors: Sequence[TensorArgument]) -> str | None:
    """The type the arguments are promoted to; a scalar tensor does not widen one with dimensions."""
    counted = [tensor.dtype for tensor in tensors if tensor.shape] or [tensor.dtype for tensor in tensors]
    known = [dtype for dtype in counted if dtype in _RANK]
    if len(known) != len(counted):
        return None
    if set(known) == {"fp16", "bf16"}:
        return "fp32"
    return max(known, key=lambda dtype: (_RANK.index(dtype), types.itemsize(dtype)))


COSTS: dict[str, Cost] = {
    **{f"aten::{name}": elementwise(_PLACE_OF_OUT.get(name, 1)) for name in _FUNCTIONS.split()},
    **{f"aten::{name}_": in_place for name in _FUNCTIONS.split()},
    **{f"aten::{name}": elementwise(_PLACE_OF_OUT.get(name, 1), booleans=True) for name in _COMPARISONS.split()},
    "aten::native_dropout": dropout,
}
