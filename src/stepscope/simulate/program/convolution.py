"""A residual convolutional network, as cuDNN runs it."""

from __future__ import annotations

from stepscope.simulate.program import gemms, ops
from stepscope.simulate.program.builder import Builder
from stepscope.simulate.specs import TensorSpec


def convnet(b: Builder, x: TensorSpec) -> TensorSpec:
    """A stem, ``layers`` residual blocks that halve the image every fourth one, a pool and a classifier."""
    job = b.job
    x = conv2d(b, x, job.hidden, 7, 2)
    x = batch_norm(b, x)
    x = relu(b, x)
    for layer in range(job.layers):
        stride = 2 if layer % 4 == 3 and x.shape[-1] > 8 else 1
        with b.frame(f"nn.Module: Bottleneck_{layer}", "torchvision/models/resnet.py(143): forward"):
            channels = x.shape[1] * stride
            with b.unit(channels * (x.shape[1] + 10 * channels)):
                x = _block(b, x, channels, stride)
        for _ in range(b.due(job.items_per_step, layer)):
            b.item()
        for _ in range(b.due(job.double_ops, layer)):
            ops.double(b)
    x = pool(b, x)
    return gemms.linear(b, x, job.vocab)


def _block(b: Builder, x: TensorSpec, channels: int, stride: int) -> TensorSpec:
    y = x
    for size, step in ((1, 1), (3, stride), (1, 1)):
        y = conv2d(b, y, channels, size, step)
        y = batch_norm(b, y)
        y = relu(b, y)
    if y.shape != x.shape:
        conv2d(b, x, channels, 1, stride)
    return ops.pointwise(b, ("aten::add", "AddBackward0"), "CUDAFunctor_add<T>", y, b.job.elementwise_split)


def conv2d(b: Builder, x: TensorSpec, channels: int, size: int, stride: int) -> TensorSpec:
    """``nn.Conv2d`` without bias, with padding that keeps the image's size."""
    n, c, height, width = x.shape
    weight = TensorSpec((channels, c, size, size), x.dtype)
    y = TensorSpec((n, channels, max(1, height // stride), max(1, width // stride)), x.dtype)
    b.params.append(weight)
    args = (x, weight, None, f"[{stride}, {stride}]", f"[{size // 2}, {size // 2}]", "[1, 1]", "1")
    with (
        b.differentiable("aten::conv2d", *args) as number,
        b.op("aten::convolution", *args),
        b.op("aten::_convolution", *args),
        b.op("aten::cudnn_convolution", *args),
    ):
        out = b.empty(y)
        b.call("cudaStreamIsCapturing")
        b.launch(b.kernels.convolution(x, y, weight, "fprop"))

    def backward() -> None:
        with b.op("aten::convolution_backward", y, x, weight, "[0]", f"[{stride}, {stride}]"):
            grads = (b.empty(x), b.empty(weight))
            b.launch(b.kernels.convolution(x, y, weight, "dgrad"))
            b.launch(b.kernels.memset(weight.bytes), "cudaMemsetAsync")
            b.launch(b.kernels.convolution(x, y, weight, "wgrad"))
        b.free(*grads)

    b.record(("ConvolutionBackward0", number), (y,), backward, params=(weight,), saved=(out,))
    return y


def batch_norm(b: Builder, x: TensorSpec) -> TensorSpec:
    """``nn.BatchNorm2d`` in training mode, with its step counter."""
    channel = TensorSpec((x.shape[1],), "fp32")
    b.params.extend((channel, channel))
    b.python(0.5)
    with b.op("aten::add_", TensorSpec((), "int64"), "1", "1"):
        b.launch(b.kernels.elementwise("CUDAFunctorOnSelf_add<long>", TensorSpec((1,), "int64"), 2))
    args = (x, channel, channel, channel, channel, "True", "0.1", "1e-05", "True")
    name = (
        "void cudnn::bn_{way}_1C11_kernel_new<T, float, float2, 512, true, 1>(cudnnTensorStruct, T const*, T*, float)"
    )
    with (
        b.differentiable("aten::batch_norm", *args) as number,
        b.op("aten::_batch_norm_impl_index", *args),
        b.op("aten::cudnn_batch_norm", *args),
    ):
        out = b.empty(x)
        b.launch(b.kernels.named(name.format(way="fw_tr"), "normalisation", x, 3, 512))

    def backward() -> None:
        with b.op("aten::cudnn_batch_norm_backward", x, x, channel):
            grad = b.empty(x)
            b.launch(b.kernels.named(name.format(way="bw"), "normalisation", x, 5, 512))
        b.free(grad)

    b.record(("CudnnBatchNormBackward0", number), (x,), backward, params=(channel, channel), saved=(out,))
    return x


def relu(b: Builder, x: TensorSpec) -> TensorSpec:
    """In-place ReLU."""
    functor = "(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&)::{lambda(T)#1}"
    with b.differentiable("aten::relu_", x) as number, b.op("aten::clamp_min_", x, "0"):
        b.launch(b.kernels.elementwise(functor, x, 2))

    def backward() -> None:
        with b.op("aten::threshold_backward", x, x, "0"):
            grad = b.empty(x)
            b.launch(b.kernels.elementwise("threshold_kernel_impl<T>", x, 3))
        b.free(grad)

    b.record(("ReluBackward0", number), (x,), backward)
    return x


def pool(b: Builder, x: TensorSpec) -> TensorSpec:
    """Global average pool and flatten."""
    y = TensorSpec((x.shape[0], x.shape[1]), x.dtype)
    name = (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<T, at::native::MeanOps<T, float, float, T>"
        ", unsigned int, T, 4> >(at::native::ReduceOp<T>)"
    )
    with (
        b.differentiable("aten::adaptive_avg_pool2d", x, "[1, 1]") as number,
        b.op("aten::mean", x, "[-1, -2]", "True", ""),
    ):
        out = b.empty(y)
        b.launch(b.kernels.named(name, "reduction", x, 1))

    def backward() -> None:
        with b.op("aten::div", x, "1"):
            grad = b.empty(x)
            b.launch(b.kernels.elementwise("DivFunctor<T>", x, 2))
        b.free(grad)

    b.record(("MeanBackward1", number), (y,), backward, saved=(out,))
    return y
