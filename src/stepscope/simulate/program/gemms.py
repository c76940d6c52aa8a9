"""GEMMs of the simulated model: linear layers, batched GEMMs, attention."""

from __future__ import annotations

from stepscope.simulate.program.builder import Builder
from stepscope.simulate.program.ops import reduction
from stepscope.simulate.specs import TensorSpec


def linear(b: Builder, x: TensorSpec, width: int, bias: bool = True) -> TensorSpec:
    """``nn.Linear`` over the last dimension."""
    rows, depth = x.elements // x.shape[-1], x.shape[-1]
    weight, vector = TensorSpec((width, depth), x.dtype), TensorSpec((width,), x.dtype)
    y = TensorSpec((*x.shape[:-1], width), x.dtype)
    flat = TensorSpec((rows, depth), x.dtype)
    name = "aten::addmm" if bias else "aten::mm"
    params = (vector, weight) if bias else (weight,)
    b.params.extend(params)
    with b.differentiable("aten::linear", x, weight, vector if bias else None) as number:
        b.view("aten::t", weight)
        with b.op(name, *([vector] if bias else []), flat, TensorSpec((depth, width), x.dtype, True), "", ""):
            out = b.empty(y)
            b.call("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
            b.launch(b.kernels.gemm(rows, width, depth, "tn"), _gemm_call(b))

    def backward() -> None:
        grad = TensorSpec((rows, width), x.dtype)
        dx = _gemm(b, "aten::mm", grad, (rows, depth, width), "nn")
        dw = _gemm(b, "aten::mm", TensorSpec((width, rows), x.dtype, True), (width, depth, rows), "nt")
        if bias:
            with b.op("aten::sum", grad, "[0]", "True", ""):
                b.free(b.empty(vector))
                b.launch(reduction(b, grad))
        b.free(dx, dw)

    node = "AddmmBackward0" if bias else "MmBackward0"
    b.record((node, number), (y,), backward, params=params, saved=(out,))
    return y


def _gemm_call(b: Builder) -> str:
    return "cudaLaunchKernelExC" if b.kernels.costs.device.capability[0] >= 9 else "cudaLaunchKernel"


def _gemm(b: Builder, name: str, left: TensorSpec, sizes: tuple[int, int, int], layout: str) -> int:
    m, n, k = sizes
    with b.op(name, left, TensorSpec((k, n), left.dtype)):
        out = b.empty(TensorSpec((m, n), left.dtype))
        b.launch(b.kernels.gemm(m, n, k, layout), _gemm_call(b))
    return out


def matmul(
    b: Builder, left: TensorSpec, right: TensorSpec, sizes: tuple[int, int, int, int], layout: str
) -> TensorSpec:
    """Batched GEMM; ``sizes`` are batch, m, n and k."""
    batch, m, n, k = sizes
    y = TensorSpec((*left.shape[:-1], n), left.dtype)
    with (
        b.differentiable("aten::matmul", left, right) as number,
        b.op("aten::bmm", TensorSpec((batch, m, k), left.dtype), TensorSpec((batch, k, n), left.dtype)),
    ):
        out = b.empty(y)
        b.launch(b.kernels.gemm(m, n, k, layout, batch), _gemm_call(b))

    def backward() -> None:
        for shape, way in (((m, k, n), "nt"), ((k, n, m), "tn")):
            with b.op("aten::bmm", TensorSpec((batch, shape[0], shape[2]), left.dtype), right):
                grad = b.empty(TensorSpec((batch, shape[0], shape[1]), left.dtype))
                b.launch(b.kernels.gemm(*shape, way, batch), _gemm_call(b))
            b.free(grad)

    b.record(("BmmBackward0", number), (y,), backward, saved=(out,))
    return y


def flash_attention(b: Builder, q: TensorSpec) -> TensorSpec:
    """``scaled_dot_product_attention`` in one kernel; ``q`` is (batch, heads, sequence, width)."""
    batch, heads, sequence, width = q.shape
    with (
        b.differentiable("aten::scaled_dot_product_attention", q, q, q, "", "0.", "False", "") as number,
        b.op("aten::_scaled_dot_product_flash_attention", q, q, q, "0.", "False"),
        b.op("aten::_flash_attention_forward", q, q, q),
    ):
        out = b.empty(q, "aten::empty_like")
        b.launch(b.kernels.attention(batch, heads, sequence, width, False))

    def backward() -> None:
        with (
            b.op("aten::_scaled_dot_product_flash_attention_backward", q, q, q, q),
            b.op("aten::_flash_attention_backward", q, q, q, q),
        ):
            grad = b.empty(q, "aten::empty_like")
            b.launch(b.kernels.memset(q.bytes), "cudaMemsetAsync")
            b.launch(b.kernels.attention(batch, heads, sequence, width, True))
        b.free(grad)

    b.record(("ScaledDotProductFlashAttentionBackward0", number), (q,), backward, saved=(out,))
    return q
