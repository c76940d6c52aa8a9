"""Entry point: the cost of an operator call from its name and recorded arguments."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from stepscope.model.opcost import attention, convolution, gemm, movement, norms, pointwise, reductions
from stepscope.model.opcost.call import CallArguments, OpCost

_COSTS = MappingProxyType(
    {
        **pointwise.COSTS,
        **reductions.COSTS,
        **norms.COSTS,
        **movement.COSTS,
        **convolution.COSTS,
        **attention.COSTS,
        **gemm.COSTS,
    }
)
# TorchScript records the whole interpreter stack as arguments, the operator's own last: a call with more arguments
# than its operator takes has no cost.
_MOST_ARGUMENTS = MappingProxyType(
    {
        **dict.fromkeys(pointwise.COSTS, 5),
        **{"aten::mm": 3, "aten::bmm": 3, "aten::matmul": 2, "aten::mv": 2, "aten::dot": 2, "aten::vdot": 2},
        **{"aten::linear": 3, "aten::addmm": 6, "aten::baddbmm": 6, "aten::copy_": 3, "aten::_softmax": 3},
    }
)
KNOWN: frozenset[str] = frozenset(_COSTS)
"""Names of the operators that have a formula."""


def cost(
    op: str, shapes: Sequence[Any], dtypes: Sequence[Any] | None = None, concrete: Sequence[Any] | None = None
) -> OpCost | None:
    """FLOPs and bytes of one operator call.

    Args:
        op: Name as recorded, `aten::mm`; an overload (`aten::add.Tensor`) is dropped.
        shapes: Kineto's `Input Dims`: a list per argument, a list of lists for a list of tensors.
        dtypes: Kineto's `Input type`: a word per argument; without them the bytes are unknown.
        concrete: Kineto's `Concrete Inputs`: a string per argument, empty for tensors.

    Returns:
        The cost; None if there is no formula for the operator, or if what it depends on is missing or contradictory.
        Never fails, whatever the recording holds.
    """
    name = op if op in _COSTS else op.split(".", 1)[0]
    formula = _COSTS.get(name)
    if formula is None or not isinstance(shapes, list | tuple):
        return None
    if len(shapes) > _MOST_ARGUMENTS.get(name, len(shapes)):
        return None
    return formula(CallArguments(shapes, dtypes or (), concrete or ()))
