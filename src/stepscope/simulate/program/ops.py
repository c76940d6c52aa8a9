"""PyTorch operators as nests of calls, allocations and launches, with their backward."""

from __future__ import annotations

from stepscope.simulate.program import instructions as ins
from stepscope.simulate.program.builder import Builder
from stepscope.simulate.records import COMPUTE
from stepscope.simulate.specs import KernelSpec, TensorSpec


def reduction(b: Builder, x: TensorSpec) -> KernelSpec:
    """The kernel that sums a tensor over its rows."""
    name = (
        "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<T, at::native::func_wrapper_t<T, "
        "at::native::sum_functor<T, float, T>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
        "unsigned int, T, 4> >(at::native::ReduceOp<T>)"
    )
    return b.kernels.named(name, "reduction", x, 1.1)


def pointwise(b: Builder, names: tuple[str, str], functor: str, x: TensorSpec, split: int = 1) -> TensorSpec:
    """A pointwise operator; ``names`` are the forward's and the node's; written as ``split`` operators."""
    for _ in range(max(1, split)):
        operands = 3 if names[0] in ("aten::add", "aten::mul") else 2
        with b.differentiable(names[0], x, *([x] if operands == 3 else []), "1") as number:
            out = b.empty(x, "aten::empty") if not names[0].endswith("_") else 0
            b.launch(b.kernels.elementwise(functor, x, operands))

        def backward() -> None:
            if names[1] != "AddBackward0":
                with b.op(f"{names[0]}_backward".replace("__", "_"), x, x):
                    grad = b.empty(x)
                    b.launch(b.kernels.elementwise(f"{names[1]}Functor<T>", x, 3))
                b.free(grad)

        b.record((names[1], number), (x,), backward, saved=(out,) if out else ())
    return x


def layer_norm(b: Builder, x: TensorSpec) -> TensorSpec:
    """``nn.LayerNorm`` over the last dimension."""
    params = (TensorSpec((x.shape[-1],), x.dtype), TensorSpec((x.shape[-1],), x.dtype))
    b.params.extend(params)
    forward = b.kernels.named(
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<T, float>(int, float, "
        "T const*, T const*, T const*, float*, float*, T*)",
        "normalisation",
        x,
        2,
    )
    with (
        b.differentiable("aten::layer_norm", x, f"[{x.shape[-1]}]", *params, "1e-05", "True") as number,
        b.op("aten::native_layer_norm", x, f"[{x.shape[-1]}]", *params, "1e-05"),
    ):
        out = b.empty(x)
        b.launch(forward)

    def backward() -> None:
        with b.op("aten::native_layer_norm_backward", x, x, f"[{x.shape[-1]}]"):
            grad = b.empty(x)
            for part, operands in (
                ("layer_norm_grad_input_kernel", 3.0),
                ("GammaBetaBackwardCUDAKernel", 2.0),
            ):
                name = f"void at::native::(anonymous namespace)::{part}<T, float>(T const*, T const*, T*, int)"
                b.launch(b.kernels.named(name, "normalisation", x, operands))
        b.free(grad)

    b.record(("NativeLayerNormBackward0", number), (x,), backward, params=params, saved=(out,))
    return x


def softmax(b: Builder, x: TensorSpec) -> TensorSpec:
    """``softmax`` over the last dimension."""
    name = "void (anonymous namespace)::softmax_warp_{way}<T, T, float, 10, false, false>(T*, T const*, int, int, int)"
    with b.differentiable("aten::softmax", x, "-1", "") as number, b.op("aten::_softmax", x, "-1", "False"):
        out = b.empty(x)
        b.launch(b.kernels.named(name.format(way="forward"), "normalisation", x, 2))

    def backward() -> None:
        with b.op("aten::_softmax_backward_data", x, x, "-1", ""):
            grad = b.empty(x)
            b.launch(b.kernels.named(name.format(way="backward"), "normalisation", x, 3))
        b.free(grad)

    b.record(("SoftmaxBackward0", number), (x,), backward, saved=(out,))
    return x


def embedding(b: Builder, indices: TensorSpec, table: TensorSpec) -> TensorSpec:
    """``nn.Embedding``."""
    y = TensorSpec((*indices.shape, table.shape[-1]), table.dtype)
    b.params.append(table)
    forward = (
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<T, long, unsigned int, 2, 2, -2, true>"
        "(at::cuda::detail::TensorInfo<T, unsigned int>, at::cuda::detail::TensorInfo<T const, unsigned int>)"
    )
    with (
        b.differentiable("aten::embedding", table, indices, "-1", "False", "False") as number,
        b.op("aten::index_select", table, "0", indices),
    ):
        out = b.empty(y)
        b.launch(b.kernels.named(forward, "embedding", y, 2))

    def backward() -> None:
        with b.op("aten::embedding_dense_backward", y, indices, str(table.shape[0]), "-1", "False"):
            grad = b.empty(table)
            b.launch(b.kernels.memset(table.bytes), "cudaMemsetAsync")
            name = "void at::native::(anonymous namespace)::compute_grad_weight<T, float, long>(long const*, T const*)"
            b.launch(b.kernels.named(name, "embedding", y, 2))
        b.free(grad)

    b.record(("EmbeddingBackward0", number), (y,), backward, params=(table,), saved=(out,))
    return y


def contiguous(b: Builder, x: TensorSpec) -> TensorSpec:
    """A copy into row-major order."""
    with b.differentiable("aten::contiguous", x, "0") as number, b.op("aten::clone", x, "0"):
        out = b.empty(x, "aten::empty_like")
        with b.op("aten::copy_", x, x, "False"):
            b.launch(b.kernels.copy(x))
    b.record(("CloneBackward0", number), (x,), lambda: None, saved=(out,))
    return x


def cross_entropy(b: Builder, x: TensorSpec, target: TensorSpec) -> TensorSpec:
    """``cross_entropy`` of (rows, classes)."""
    name = (
        "void at::native::(anonymous namespace)::cunn_SoftMax{way}<8, T, float, T, at::native::(anonymous "
        "namespace)::LogSoftMax{way}Epilogue>(T*, T const*, int)"
    )
    loss = TensorSpec((), "fp32")
    nll = TensorSpec((x.shape[0],), "fp32")
    reduce = (
        "void at::native::(anonymous namespace)::nll_loss_{way}_reduce_cuda_kernel_2d<T, float, long>(T*, T*, long*)"
    )
    with b.differentiable("aten::cross_entropy_loss", x, target, "", "1", "-100", "0.") as number:
        with b.op("aten::log_softmax", x, "1", ""), b.op("aten::_log_softmax", x, "1", "False"):
            out = b.empty(x)
            b.launch(b.kernels.named(name.format(way="Forward"), "normalisation", x, 2))
        with b.op("aten::nll_loss_nd", x, target), b.op("aten::nll_loss_forward", x, target):
            scalar = b.empty(loss)
            b.launch(b.kernels.named(reduce.format(way="forward"), "reduction", nll, 2))

    def backward() -> None:
        with b.op("aten::_log_softmax_backward_data", x, x, "1", ""):
            grad = b.empty(x)
            b.launch(b.kernels.named(reduce.format(way="backward"), "reduction", nll, 2))
            b.launch(b.kernels.named(name.format(way="Backward"), "normalisation", x, 3))
        b.free(grad)

    b.record(("LogSoftmaxBackward0", number), (loss,), backward, saved=(out, scalar))
    return loss


def double(b: Builder) -> None:
    """Statistics kept in fp64: an elementwise multiplication of two vectors of the model's width."""
    wide = TensorSpec((b.job.hidden, 64), "fp64")
    b.python()
    with b.op("aten::mul", wide, wide):
        out = b.empty(wide)
        b.launch(b.kernels.double(wide))
    b.free(out)


def host_to_device(b: Builder, x: TensorSpec, queue: int = COMPUTE) -> int:
    """``x.to(device)``; returns the slot of the device tensor."""
    b.python()
    pinned = b.job.pinned
    with b.op("aten::to", x, "", "", "", "", ""), b.op("aten::_to_copy", x, "", "", "", "", str(pinned)):
        out = b.empty(x, "aten::empty_strided")
        with b.op("aten::copy_", x, x, str(pinned)):
            b.out.append(ins.Copy(b.kernels.memcpy(x.bytes, "HtoD", pinned), queue, not pinned))
            if not pinned:
                b.out.append(ins.Sync(queue))
    return out
