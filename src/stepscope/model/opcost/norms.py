"""Normalisations.

Counted from their definitions, per element: the mean (1), the centred value (1), its square and their sum (2), the
scaling (1), and the weight and the bias where there are any (1 each). RMSNorm has no mean: square and sum (2), scaling
(1), weight (1). Inference with recorded statistics only centres and scales (2). A backward pass is counted as
twice the forward, one for the gradient by the input and one for those by the statistics and parameters; that is an
estimate, which matters little, since normalisations are bound by their bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from stepscope.model.opcost.call import CallArguments, OpCost
from stepscope.model.opcost.tensors import TensorArgument, sizes

Cost = Callable[[CallArguments], OpCost | None]

_STATISTICS = 5
_RMS = 3
_RECORDED_STATISTICS = 2


def forward(base: int, weight: int, bias: int | None, *, training: int | None = None) -> Cost:
    """A cost function for `op(x, ...)` with its parameters and its training flag at the given places."""

    def cost(call: CallArguments) -> OpCost | None:
        x, w = call.tensor(0), call.tensor(weight)
        b = None if bias is None else call.tensor(bias)
        if x is None:
            return None
        inferring = training is not None and call.flag(training) is False
        per_element = (_RECORDED_STATISTICS if inferring else base) + (w is not None) + (b is not None)
        return OpCost(per_element * x.numel, sizes((x, w, b)), x.nbytes, "normalisation")

    return cost


def backward(call: CallArguments) -> OpCost | None:
    """A backward pass whose two first arguments are the gradient and the input, in either order, of equal size."""
    grad, x = call.tensor(0), call.tensor(1)
    if grad is None or x is None or grad.numel != x.numel:
        return None
    parameters = [tensor for tensor in call.tensors()[2:] if tensor.numel < x.numel]
    flops = 2 * (_STATISTICS + 2) * x.numel
    return OpCost(flops, sizes((grad, x, *parameters)), _written(x, parameters), "normalisation")


def _written(x: TensorArgument, parameters: list[TensorArgument]) -> int | None:
    """Bytes of the gradients by input, weight and bias; the latter two as large as the largest parameter."""
    weight = max((tensor.nbytes or 0 for tensor in parameters), default=0)
    return None if x.nbytes is None else x.nbytes + 2 * weight


_BATCH = forward(_STATISTICS, weight=1, bias=2, training=5)

COSTS: dict[str, Cost] = {
    "aten::native_layer_norm": forward(_STATISTICS, weight=2, bias=3),
    "aten::layer_norm": forward(_STATISTICS, weight=2, bias=3),
    "aten::native_group_norm": forward(_STATISTICS, weight=1, bias=2),
    "aten::group_norm": forward(_STATISTICS, weight=2, bias=3),
    "aten::native_batch_norm": _BATCH,
    "aten::cudnn_batch_norm": _BATCH,
    "aten::miopen_batch_norm": _BATCH,
    "aten::batch_norm": _BATCH,
    "aten::_native_batch_norm_legit": _BATCH,
    "aten::rms_norm": forward(_RMS, weight=2, bias=None),
    "aten::_fused_rms_norm": forward(_RMS, weight=2, bias=None),
    **dict.fromkeys(
        (
            "aten::native_layer_norm_backward",
            "aten::native_group_norm_backward",
            "aten::native_batch_norm_backward",
            "aten::cudnn_batch_norm_backward",
            "aten::miopen_batch_norm_backward",
        ),
        backward,
    ),
}
