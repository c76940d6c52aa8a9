"""Memory that is taken for a moment: logits and loss, gathered weights, and what a layer works in."""

from __future__ import annotations

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout, Recompute
from stepscope.planning.memory.activations import kept_by_layer
from stepscope.planning.memory.states import held, padded_vocab
from stepscope.planning.stages import Stage


def logits(shape: ModelShape, layout: Layout, stage: Stage) -> float:
    """Bytes of logits and loss at their peak, between forward and backward.

    Megatron's vocabulary-parallel loss: 16-bit logits and their fp32 copy, in which it works in place: 6 bytes each.
    PyTorch's: the logits, their fp32 copy, the fp32 log-softmax and its gradient: 14; over tensor-parallel ranks (loss
    parallel) it makes the shifted logits and their exponentials as well: 22. A fused loss keeps the 16-bit logits and
    writes their gradient: 4.
    """
    if not stage.last:
        return 0.0
    number = layout.tokens * padded_vocab(shape, layout) / layout.tp
    if shape.fused_loss or layout.fused_loss:
        each = 4.0
    elif layout.framework in (Framework.FSDP, Framework.TORCHTITAN):
        each = 14.0 if layout.tp == 1 else 22.0
    else:
        each = 6.0 if layout.framework is Framework.MEGATRON or layout.tp > 1 else 10.0
    return each * number


def gathered(shape: ModelShape, layout: Layout, stage: Stage) -> tuple[float, float]:
    """Bytes of gathered weights and of gradients before they are sharded: throughout, and for a moment.

    FSDP gathers a layer while it computes another one, from a buffer into weights; embedding and output layer stay
    gathered; without resharding all layers do. A layer's gradients are 16 bits wide, and 32 where they are reduced.
    Between micro-batches a pipeline keeps whole gradients as they are reduced.
    """
    mine = held(shape, layout, stage)
    if layout.framework is Framework.DEEPSPEED:
        if layout.zero == 3:
            # stage3_max_live_parameters and the bucket of gradients, as they are unless set.
            return 0.0, 2.0 * min(1e9, mine.total) + 2.0 * min(5e8, mine.total) + 4.0 * mine.largest
        if layout.zero in (1, 2):
            if layout.pp > 1 and layout.precision == "bf16":
                # One gradient at a time, the embedding's at most, is widened to be summed; before they are reduced, all
                # of them are narrowed to bf16 at once (runtime/bf16_optimizer.py, engine.py: allreduce_bucket).
                vocab = shape.hidden * padded_vocab(shape, layout) / layout.tp if mine.ends else 0.0
                return 0.0, 4.0 * max(vocab, mine.largest / 3) + 2.0 * mine.total
            # Two buckets of 5e8 elements for gradients; what is larger is reduced where it lies, and weights are
            # gathered in place (runtime/zero/stage_1_and_2.py).
            return 0.0, 2.0 * 2.0 * min(5e8, mine.total)
        return 0.0, 0.0
    if layout.framework is Framework.MEGATRON:
        return (0.0, 8.0 * mine.largest) if layout.zero >= 3 else (0.0, 0.0)
    if layout.zero < 2:
        return 0.0, 0.0
    held_on = 2.0 * (mine.total if layout.zero == 2 or layout.pp > 1 else mine.ends)
    if layout.lora:
        return held_on, 6.0 * mine.largest if layout.zero == 3 and layout.pp == 1 else 0.0
    reduced = 2.0 if layout.narrow_reduction else 4.0
    if layout.micro_batches > 1 and (layout.pp > 1 or _kept_whole(layout)):
        held_on += reduced * mine.total
    layer = mine.largest
    return held_on, (6.0 * layer if layout.zero == 3 and layout.pp == 1 else 0.0) + (2.0 + reduced) * layer


def working(shape: ModelShape, layout: Layout, stage: Stage) -> float:
    """Bytes that one layer's backward pass works in beyond what the forward pass kept."""
    sparse = stage.sparse > 0
    found = 0.0
    if layout.recompute is Recompute.FULL or (layout.recompute is Recompute.LAYERS and layout.recomputed_layers):
        found += kept_by_layer(shape, layout, sparse, Recompute.NONE)
    elif layout.recompute in (Recompute.OPERATORS, Recompute.MODULES, Recompute.EXPERTS):
        whole = kept_by_layer(shape, layout, sparse, Recompute.NONE)
        found += max(0.0, whole - kept_by_layer(shape, layout, sparse))
    elif layout.recompute is Recompute.SELECTIVE and layout.attention == "unfused":
        found += kept_by_layer(shape, layout, sparse, Recompute.NONE) - kept_by_layer(shape, layout, sparse)
    width = shape.active_experts * shape.expert_ffn if sparse else shape.ffn
    inner = 2.0 * (2 if shape.gated else 1) * width / layout.tp
    scores = 4.0 * shape.heads * shape.mean_context(layout.seq) / layout.tp if layout.attention == "unfused" else 0.0
    # Gradients of the residual stream and of what is gathered from tensor-parallel ranks for a layer's input.
    stream = 4.0 * shape.hidden / layout.split + (4.0 * shape.hidden if layout.split > 1 else 0.0)
    return found + layout.tokens * (max(inner, scores) + stream)


def _kept_whole(layout: Layout) -> bool:
    """Whether gradients stay whole, in fp32, until the last micro-batch: FSDP2 without gradient synchronization."""
    return not layout.reduce_each and layout.dp * layout.cp > 1
