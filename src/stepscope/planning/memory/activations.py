"""What the forward pass keeps for the backward pass, per layer and micro-batch.

Korthikanti et al. 2022 (arXiv 2205.05198), section 4: per token and layer, in bytes with 16-bit activations, 10 h +
24 h / t + 5 a s / t, where h is the width, a the heads, s the sequence and t the tensor-parallel ranks; here item by
item, so that it holds for grouped heads, gated MLPs, experts, fused attention, and without dropout.
"""

from __future__ import annotations

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout, Recompute


def kept_by_layer(shape: ModelShape, layout: Layout, sparse: bool, recompute: Recompute | None = None) -> float:
    """Bytes that one layer keeps of one micro-batch on a device, as the layout recomputes or as `recompute` says."""
    how = layout.recompute if recompute is None else recompute
    if how is Recompute.FULL:
        return layer_input(shape, layout)
    if how is Recompute.LAYERS:
        share = min(1.0, layout.recomputed_layers / shape.layers)
        rest = kept_by_layer(shape, layout, sparse, Recompute.NONE)
        return share * layer_input(shape, layout) + (1 - share) * rest
    if how is Recompute.OPERATORS:
        return layout.tokens * _chosen_operators(shape, layout, sparse)
    if how in (Recompute.MODULES, Recompute.EXPERTS):
        return layout.tokens * _without_outputs(shape, layout, sparse, experts=how is Recompute.MODULES)
    scores = how is not Recompute.SELECTIVE
    return layout.tokens * (_residual(shape, layout) + _attention(shape, layout, scores) + _mlp(shape, layout, sparse))


def layer_input(shape: ModelShape, layout: Layout) -> float:
    """Bytes of a layer's input, which is all that full recomputation keeps."""
    return 2.0 * layout.tokens * shape.hidden / layout.split


def _residual(shape: ModelShape, layout: Layout) -> float:
    """Norms' inputs and outputs, and masks of dropout; replicated over tensor-parallel ranks unless these are split."""
    # Without fusion, norms keep their input in fp32.
    width = 12.0 if _eager(layout) and not shape.half_norms else 4.0 + 2.0 * _input(layout)
    return (width + (2.0 if shape.dropout else 0.0)) * shape.hidden / layout.split


def _attention(shape: ModelShape, layout: Layout, scores: bool) -> float:
    """Queries, keys, values and the result; without fused attention scores, too: 2 bytes each, 5 with dropout."""
    if shape.latent:
        one = shape.latent
        low = one.query_rank + one.kv_rank + one.rope
        # Low-rank inputs are replicated; queries, keys and values are as wide as all heads.
        kept = 4.0 * low + 2.0 * (2 * shape.query_width + 2 * shape.value_width) / layout.tp
    else:
        kept = 2.0 * (shape.query_width + 2 * shape.kv_width + shape.value_width) / layout.tp
    if layout.attention == "unfused":
        if scores:
            each = 5.0 if shape.dropout else 2.0
            kept += each * shape.heads * shape.mean_context(layout.seq) / layout.tp
    else:
        kept += 4.0 * shape.heads / layout.tp
    return kept


def _mlp(shape: ModelShape, layout: Layout, sparse: bool) -> float:
    if not sparse:
        return _inner(shape, layout) * shape.ffn / layout.tp
    routed = shape.active_experts
    # Every token has a row for each of its experts, before and after them, and the router's probabilities in fp32.
    row = (2.0 + _input(layout)) * shape.hidden / layout.split
    rows = row + _inner(shape, layout) * shape.expert_ffn / layout.tp
    shared = _inner(shape, layout) * shape.shared_ffn / layout.tp
    return routed * rows + shared + 8.0 * shape.experts / layout.split


def _inner(shape: ModelShape, layout: Layout) -> float:
    """Bytes per column of an MLP's inner width: before and after the activation, and of the gate."""
    if not shape.gated:
        return 2.0 + _input(layout)
    return 8.0 if _eager(layout) else 4.0 + _input(layout)


def _input(layout: Layout) -> float:
    """Bytes of an element that a multiplication keeps of its input: Transformer Engine keeps it as it multiplied it."""
    return 1.0 if layout.precision == "fp8" and layout.framework is Framework.MEGATRON else 2.0


def _without_outputs(shape: ModelShape, layout: Layout, sparse: bool, experts: bool = True) -> float:
    """Kept where outputs of norms, activations and latent projections are dropped and computed again.

    Megatron-core, --recompute-modules layernorm moe_act mla_up_proj; DeepSeek-V3 (arXiv 2412.19437, section 3.2.3).
    Without `experts`, all that these keep as well.
    """
    kept = (4.0 + (2.0 if shape.dropout else 0.0)) * shape.hidden / layout.split
    if shape.latent:
        one = shape.latent
        kept += 2.0 * (one.query_rank + one.kv_rank + one.rope) + 2.0 * shape.value_width / layout.tp
        kept += 4.0 * shape.heads / layout.tp
    else:
        kept += _attention(shape, layout, scores=True)
    inner = 4.0 if shape.gated else 2.0  # what goes into the activation
    if not sparse:
        return kept + inner * shape.ffn / layout.tp
    if not experts:
        return kept
    rows = _input(layout) * shape.hidden / layout.split + inner * shape.expert_ffn / layout.tp
    return (
        kept + shape.active_experts * rows + inner * shape.shared_ffn / layout.tp + 8.0 * shape.experts / layout.split
    )


def _chosen_operators(shape: ModelShape, layout: Layout, sparse: bool) -> float:
    """Torchtitan's selective recomputation per operator keeps attention and every other matrix multiplication."""
    kept = 2.0 * shape.hidden / layout.split
    kept += 2.0 * (shape.query_width + shape.kv_width + shape.value_width) / layout.tp + 4.0 * shape.heads / layout.tp
    if layout.tp > 1:
        kept += 4.0 * shape.hidden / layout.split  # results of reduce-scatter are kept
    width = shape.active_experts * shape.expert_ffn + shape.shared_ffn if sparse else shape.ffn
    rows = shape.active_experts if sparse else 1
    return kept + 2.0 * width / layout.tp + 2.0 * rows * shape.hidden / layout.split


def _eager(layout: Layout) -> bool:
    return not layout.compiled and layout.framework is not Framework.MEGATRON
