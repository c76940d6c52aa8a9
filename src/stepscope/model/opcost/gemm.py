"""Matrix multiplications.

M x K by K x N takes 2 M N K operations: a multiplication and an addition per inner term (as BLAS counts,
LAPACK Working Note 41, appendix C). Adding a bias or an accumulated matrix takes one more per element of the result,
M N. Scaling by alpha and beta is not counted. Bytes are those of the operands and the result, each moved once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from stepscope.model.opcost.call import CallArguments, OpCost
from stepscope.model.opcost.tensors import Shape, TensorArgument, nbytes, sizes

Cost = Callable[[CallArguments], OpCost | None]


def gemm(
    batch: int,
    m: int,
    n: int,
    k: int,
    operands: tuple[TensorArgument, TensorArgument],
    *,
    bias: TensorArgument | None = None,
    out: str | None = None,
) -> OpCost:
    """Cost of a batched GEMM, M x K by K x N.

    Args:
        batch: Number of matrices per operand.
        m: Rows of the result.
        n: Columns of the result.
        k: Inner terms.
        operands: The two factors, for their bytes.
        bias: What is added to the result.
        out: Element type of the result, that of the first factor if None.
    """
    flops = 2 * batch * m * n * k + (batch * m * n if bias is not None else 0)
    return OpCost(flops, sizes((*operands, bias)), nbytes(batch * m * n, out or operands[0].dtype), "gemm")


def mm(call: CallArguments) -> OpCost | None:
    """`mm(a[M, K], b[K, N], out?)`."""
    return _into(call, _two_dimensional(call.tensor(0), call.tensor(1)))


def addmm(call: CallArguments) -> OpCost | None:
    """`addmm(bias, a[M, K], b[K, N])`."""
    return _two_dimensional(call.tensor(1), call.tensor(2), call.tensor(0))


def bmm(call: CallArguments) -> OpCost | None:
    """`bmm(a[B, M, K], b[B, K, N], out?)`."""
    return _into(call, _batched(call.tensor(0), call.tensor(1)))


def baddbmm(call: CallArguments) -> OpCost | None:
    """`baddbmm(bias, a[B, M, K], b[B, K, N])`."""
    return _batched(call.tensor(1), call.tensor(2), call.tensor(0))


def linear(call: CallArguments) -> OpCost | None:
    """`linear(x[..., K], weight[N, K], bias[N]?)`, also of vLLM and AITER, which keep the weight the same way."""
    x, weight = call.tensor(0), call.tensor(1)
    if x is None or weight is None or not x.shape or len(weight.shape) != 2 or x.shape[-1] != weight.shape[1]:
        return None
    return gemm(1, math.prod(x.shape[:-1]), weight.shape[0], weight.shape[1], (x, weight), bias=call.tensor(2))


def matmul(call: CallArguments) -> OpCost | None:
    """`matmul(a, b)`, with one-dimensional factors and broadcast batches as NumPy has them."""
    a, b = call.tensor(0), call.tensor(1)
    if a is None or b is None or not a.shape or not b.shape:
        return None
    left: Shape = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right: Shape = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    batch = broadcast(left[:-2], right[:-2])
    if batch is None or left[-1] != right[-2]:
        return None
    return gemm(math.prod(batch), left[-2], right[-1], left[-1], (a, b))


def mv(call: CallArguments) -> OpCost | None:
    """`mv(a[M, K], x[K])`."""
    a, x = call.tensor(0), call.tensor(1)
    if a is None or x is None or len(a.shape) != 2 or x.shape != (a.shape[1],):
        return None
    return gemm(1, a.shape[0], 1, a.shape[1], (a, x))


def dot(call: CallArguments) -> OpCost | None:
    """`dot(x[K], y[K])`."""
    x, y = call.tensor(0), call.tensor(1)
    if x is None or y is None or len(x.shape) != 1 or x.shape != y.shape:
        return None
    return gemm(1, 1, 1, x.shape[0], (x, y))


def scaled_mm(call: CallArguments) -> OpCost | None:
    """`_scaled_mm(a[M, K], b[K, N], scale_a, scale_b, bias?, scale_result?, out_dtype?)`.

    Fp4 operands are recorded as bytes of two values, so for them K is twice the recorded number.
    """
    a, b = call.tensor(0), call.tensor(1)
    if a is None or b is None or len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        return None
    k = a.shape[1] * (2 if a.dtype == "fp4" else 1)
    return gemm(1, a.shape[0], b.shape[1], k, (a, b), bias=call.tensor(4), out=call.scalar_type(6))


def int_mm(call: CallArguments) -> OpCost | None:
    """`_int_mm(a[M, K], b[K, N])`, int8 to int32."""
    a, b = call.tensor(0), call.tensor(1)
    if a is None or b is None or len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        return None
    return gemm(1, a.shape[0], b.shape[1], a.shape[1], (a, b), out="int32")


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """The shape two shapes broadcast to, or None if they do not."""
    longest = max(len(a), len(b))
    left, right = (1,) * (longest - len(a)) + a, (1,) * (longest - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(left, right, strict=True)):
        return None
    return tuple(y if x == 1 else x for x, y in zip(left, right, strict=True))


def _into(call: CallArguments, found: OpCost | None) -> OpCost | None:
    """The cost, if a third tensor is the one to write to; another shows that these are not the arguments."""
    a, b, out = call.tensor(0), call.tensor(1), call.tensor(2)
    if a is None or b is None or out is None:
        return found
    return found if out.shape == (*a.shape[:-1], b.shape[-1]) else None


def _two_dimensional(
    a: TensorArgument | None, b: TensorArgument | None, bias: TensorArgument | None = None
) -> OpCost | None:
    if a is None or b is None or len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        return None
    return gemm(1, a.shape[0], b.shape[1], a.shape[1], (a, b), bias=bias)


def _batched(a: TensorArgument | None, b: TensorArgument | None, bias: TensorArgument | None = None) -> OpCost | None:
    if a is None or b is None or len(a.shape) != 3 or len(b.shape) != 3:
        return None
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        return None
    return gemm(a.shape[0], a.shape[1], b.shape[2], a.shape[2], (a, b), bias=bias)


COSTS: dict[str, Cost] = {
    "aten::mm": mm,
    "aten::addmm": addmm,
    "aten::addmm_": addmm,
    "aten::_addmm_activation": addmm,
    "aten::bmm": bmm,
    "aten::baddbmm": baddbmm,
    "aten::baddbmm_": baddbmm,
    "aten::matmul": matmul,
    "aten::linear": linear,
    "aten::mv": mv,
    "aten::dot": dot,
    "aten::vdot": dot,
    "aten::_scaled_mm": scaled_mm,
    "aten::_int_mm": int_mm,
    "vllm::rocm_unquantized_gemm": linear,
    "aiter::gemm_a16w16": linear,
}
