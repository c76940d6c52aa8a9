"""Fused attention.

Forward: the scores take 2 Nq Nk Dqk operations per head and the weighted sum 2 Nq Nk Dv (two GEMMs). Backward
recomputes the scores and has four more GEMMs, by V, by P, by Q and by K: 2 Nq Nk (3 Dqk + 2 Dv). A causal mask
halves both. This is the convention of Dao et al., FlashAttention-2 (2023), section 4.1, and of
torch.utils.flop_counter; the softmax itself is not counted. Bytes are those of Q, K, V and the result (backward: also
the gradients), each moved once: what a fused kernel needs.

Where a causal mask covers a rectangle its place is a matter of convention, so there is no answer unless there is one
query. Batches of packed sequences need their lengths, which recordings do not have; `npu_fusion_attention` and its
gradient need the layout of their tensors and the kind of mask, which are words that torch_npu does not record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stepscope.model.opcost.call import CallArguments, OpCost
from stepscope.model.opcost.tensors import TensorArgument, nbytes, sizes

Cost = Callable[[CallArguments], OpCost | None]


@dataclass(frozen=True, slots=True)
class AttentionPlaces:
    """Argument positions that the count depends on.

    Attributes:
        causal: The flag (or custom mask type: 0 none, else causal), None if the operator has none.
        heads_first: Whether tensors are [B, H, N, D] rather than [B, N, H, D].
        query: Position of Q, followed by K and V.
        packed: Position of the offsets of packed sequences, None if the operator has none.
    """

    causal: int | None
    heads_first: bool
    query: int = 0
    packed: int | None = None


@dataclass(frozen=True, slots=True)
class _Sizes:
    batch: int
    heads: int
    queries: int
    keys: int
    qk: int
    v: int


def forward(places: AttentionPlaces) -> Cost:
    """A cost function for a fused forward pass."""

    def cost(call: CallArguments) -> OpCost | None:
        qkv = _operands(call, places)
        size = None if qkv is None else _measure(qkv, heads_first=places.heads_first)
        pairs = None if size is None else _pairs(call, places, size)
        if qkv is None or size is None or pairs is None:
            return None
        flops = pairs * 2 * (size.qk + size.v)
        out = nbytes(size.batch * size.heads * size.queries * size.v, qkv[0].dtype)
        return OpCost(flops, sizes(qkv), out, "attention")

    return cost


def backward(places: AttentionPlaces) -> Cost:
    """A cost function for a fused backward pass, whose gradient of the result comes first."""

    def cost(call: CallArguments) -> OpCost | None:
        qkv, grad = _operands(call, places), call.tensor(0)
        size = None if qkv is None else _measure(qkv, heads_first=places.heads_first)
        pairs = None if size is None else _pairs(call, places, size)
        if qkv is None or grad is None or size is None or pairs is None:
            return None
        flops = pairs * 2 * (3 * size.qk + 2 * size.v)
        # The forward result is read as well, and is as large as its gradient.
        return OpCost(flops, sizes((*qkv, grad, grad)), sizes(qkv), "attention")

    return cost


def _operands(
    call: CallArguments, places: AttentionPlaces
) -> tuple[TensorArgument, TensorArgument, TensorArgument] | None:
    q, k, v = (call.tensor(places.query + offset) for offset in range(3))
    if q is None or k is None or v is None or not len(q.shape) == len(k.shape) == len(v.shape) == 4:
        return None
    packed = None if places.packed is None else call.tensor(places.packed)
    return None if packed is not None and packed.shape else (q, k, v)


def _measure(qkv: tuple[TensorArgument, TensorArgument, TensorArgument], *, heads_first: bool) -> _Sizes | None:
    q, k, v = (tensor.shape for tensor in qkv)
    heads, length = (1, 2) if heads_first else (2, 1)
    if q[0] != k[0] or k[length] != v[length] or q[3] != k[3] or k[0] != v[0]:
        return None
    return _Sizes(q[0], q[heads], q[length], k[length], q[3], v[3])


def _pairs(call: CallArguments, places: AttentionPlaces, size: _Sizes) -> int | None:
    """Number of (query, key) pairs over all heads; half of them under a causal mask."""
    pairs = size.batch * size.heads * size.queries * size.keys
    if places.causal is None:
        return pairs
    if call.text(places.causal) is None:
        return None
    mask = call.integer(places.causal)
    causal = bool(mask) if mask is not None else call.flag(places.causal)
    if causal is None:
        return None
    if not causal or size.queries == 1:
        return pairs
    return pairs // 2 if size.queries == size.keys else None


COSTS: dict[str, Cost] = {
    "aten::scaled_dot_product_attention": forward(AttentionPlaces(causal=5, heads_first=True)),
    "aten::_scaled_dot_product_attention_math": forward(AttentionPlaces(causal=5, heads_first=True)),
    "aten::_scaled_dot_product_flash_attention": forward(AttentionPlaces(causal=4, heads_first=True)),
    "aten::_scaled_dot_product_efficient_attention": forward(AttentionPlaces(causal=6, heads_first=True)),
    "aten::_scaled_dot_product_cudnn_attention": forward(AttentionPlaces(causal=6, heads_first=True)),
    "aten::_scaled_dot_product_fused_attention_overrideable": forward(AttentionPlaces(causal=5, heads_first=True)),
    "aten::_flash_attention_forward": forward(AttentionPlaces(causal=8, heads_first=False, packed=3)),
    "aten::_efficient_attention_forward": forward(AttentionPlaces(causal=9, heads_first=False, packed=4)),
    "aten::_cudnn_attention_forward": forward(AttentionPlaces(causal=10, heads_first=True, packed=4)),
    "flash_attn::_flash_attn_forward": forward(AttentionPlaces(causal=5, heads_first=False)),
    "aiter::_flash_attn_forward": forward(AttentionPlaces(causal=5, heads_first=False)),
    "aten::_scaled_dot_product_flash_attention_backward": backward(AttentionPlaces(11, True, query=1, packed=6)),
    "aten::_scaled_dot_product_efficient_attention_backward": backward(AttentionPlaces(11, True, query=1)),
    "aten::_scaled_dot_product_cudnn_attention_backward": backward(AttentionPlaces(14, True, query=1, packed=9)),
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": backward(
        AttentionPlaces(13, True, query=1, packed=8)
    ),
    "aten::_flash_attention_backward": backward(AttentionPlaces(11, False, query=1, packed=6)),
    "aten::_efficient_attention_backward": backward(AttentionPlaces(14, False, query=1, packed=6)),
    "flash_attn::_flash_attn_backward": backward(AttentionPlaces(11, False, query=1)),
    "aiter::_flash_attn_backward": backward(AttentionPlaces(11, False, query=1)),
}
