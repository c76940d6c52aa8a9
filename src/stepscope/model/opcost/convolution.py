"""Convolutions, forward and backward.

Each of the N x O x P outputs (P the number of output positions) sums C/g x F terms (F the size of the filter), so a
convolution takes 2 N O P (C/g) F operations, and a bias N O P more. A transposed one spreads each input instead:
2 N C P' (O/g) F with P' the input positions. Each of the two gradients, by input and by weight, takes as many
again (the same sums in another order); the gradient by bias sums the output gradient. This is how
torch.utils.flop_counter counts. Output positions per dimension: (in + 2 padding - dilation (k - 1) - 1) / stride + 1
(torch.nn.Conv2d).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from stepscope.model.opcost.call import CallArguments, OpCost
from stepscope.model.opcost.tensors import Shape, TensorArgument, nbytes, sizes, total

Cost = Callable[[CallArguments], OpCost | None]


@dataclass(frozen=True, slots=True)
class ConvolutionPlaces:
    """Where an operator's signature has the arguments of a convolution; None where it has none."""

    bias: int | None
    stride: int
    padding: int
    dilation: int
    groups: int
    transposed: int | None = None
    output_padding: int | None = None


def forward(places: ConvolutionPlaces) -> Cost:
    """A cost function for `op(input, weight, ...)` with its other arguments at the given places."""

    def cost(call: CallArguments) -> OpCost | None:
        x, weight = call.tensor(0), call.tensor(1)
        if x is None or weight is None or len(x.shape) < 3 or len(x.shape) != len(weight.shape):
            return None
        out = _output(call, places, x, weight)
        if out is None:
            return None
        bias = None if places.bias is None else call.tensor(places.bias)
        flops = _flops(x.shape, weight.shape, out, transposed=_transposed(call, places))
        flops += math.prod(out) if bias is not None else 0
        return OpCost(flops, sizes((x, weight, bias)), nbytes(math.prod(out), x.dtype), "convolution")

    return cost


def backward(call: CallArguments) -> OpCost | None:
    """`convolution_backward(grad, input, weight, bias_sizes, ..., transposed[7], ..., groups[9], output_mask[10])`."""
    grad, x, weight = call.tensor(0), call.tensor(1), call.tensor(2)
    transposed, wanted = call.flag(7), call.flags(10)
    if grad is None or x is None or weight is None or transposed is None or wanted is None or len(wanted) != 3:
        return None
    if not len(grad.shape) == len(x.shape) == len(weight.shape) >= 3:
        return None
    one = _flops(x.shape, weight.shape, grad.shape, transposed=transposed)
    flops = 0
    read: list[int | None] = [grad.nbytes]
    written: list[int | None] = []
    if wanted[0]:
        flops, read, written = flops + one, [*read, weight.nbytes], [*written, x.nbytes]
    if wanted[1]:
        flops, read, written = flops + one, [*read, x.nbytes], [*written, weight.nbytes]
    if wanted[2]:
        flops, written = flops + grad.numel, [*written, nbytes(grad.shape[1], grad.dtype)]
    return OpCost(flops, total(read), total(written), "convolution")


def backward_input(call: CallArguments) -> OpCost | None:
    """`cudnn_convolution_backward_input(size, grad, weight, ...)` of PyTorch before 1.11; the size is no tensor."""
    grad, weight = call.tensor(1), call.tensor(2)
    if grad is None or weight is None or not len(grad.shape) == len(weight.shape) >= 3:
        return None
    if grad.shape[1] != weight.shape[0]:
        return None
    flops = _flops(grad.shape, weight.shape, grad.shape, transposed=False)
    return OpCost(flops, sizes((grad, weight)), None, "convolution")


def _transposed(call: CallArguments, places: ConvolutionPlaces) -> bool:
    return places.transposed is not None and call.flag(places.transposed) is True


def _flops(x: Shape, weight: Shape, out: Shape, *, transposed: bool) -> int:
    """2 x the multiplications; `weight` is [O, C/g, filter] or, transposed, [C, O/g, filter]."""
    positions = x if transposed else out
    return 2 * x[0] * math.prod(positions[2:]) * math.prod(weight)


def _output(call: CallArguments, places: ConvolutionPlaces, x: TensorArgument, weight: TensorArgument) -> Shape | None:
    stride, padding = call.integers(places.stride), call.integers(places.padding)
    dilation, groups = call.integers(places.dilation), call.integer(places.groups)
    rank = len(x.shape) - 2
    if stride is None or padding is None or dilation is None or groups is None or groups < 1:
        return None
    window = [_each(values, rank) for values in (stride, padding, dilation)]
    if None in window or any(step < 1 for step in window[0] or []):
        return None
    steps, pads, gaps = (values or [] for values in window)
    if _transposed(call, places):
        extra = _each(call.integers(places.output_padding or -1) or [0], rank) or [0] * rank
        spatial = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1 + e
            for n, k, s, p, d, e in zip(x.shape[2:], weight.shape[2:], steps, pads, gaps, extra, strict=True)
        ]
        return _positive((x.shape[0], weight.shape[1] * groups, *spatial))
    spatial = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], weight.shape[2:], steps, pads, gaps, strict=True)
    ]
    return _positive((x.shape[0], weight.shape[0], *spatial))


def _each(values: list[int], rank: int) -> list[int] | None:
    """One value per dimension; a single value stands for all."""
    if len(values) == 1:
        return values * rank
    return values if len(values) == rank else None


def _positive(shape: Shape) -> Shape | None:
    return shape if all(dim >= 0 for dim in shape) else None


_FULL = ConvolutionPlaces(bias=2, stride=3, padding=4, dilation=5, groups=8, transposed=6, output_padding=7)
_CONV_ND = ConvolutionPlaces(bias=2, stride=3, padding=4, dilation=5, groups=6)

COSTS: dict[str, Cost] = {
    "aten::convolution": forward(_FULL),
    "aten::_convolution": forward(_FULL),
    "aten::convolution_overrideable": forward(_FULL),
    "aten::conv1d": forward(_CONV_ND),
    "aten::conv2d": forward(_CONV_ND),
    "aten::conv3d": forward(_CONV_ND),
    "aten::cudnn_convolution": forward(ConvolutionPlaces(bias=None, padding=2, stride=3, dilation=4, groups=5)),
    "aten::miopen_convolution": forward(ConvolutionPlaces(bias=2, padding=3, stride=4, dilation=5, groups=6)),
    "aten::mkldnn_convolution": forward(ConvolutionPlaces(bias=2, padding=3, stride=4, dilation=5, groups=6)),
    "aten::convolution_backward": backward,
    "aten::cudnn_convolution_backward_input": backward_input,
}
