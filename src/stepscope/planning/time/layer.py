"""Seconds of one layer for one micro-batch, forward and backward, by what they are spent on."""

from __future__ import annotations

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout, Recompute
from stepscope.planning.machine.gemm import aligned, attention_share, gemm
from stepscope.planning.machine.platform import Platform
from stepscope.planning.multiplications import multiplications
from stepscope.planning.time.links import context_parallel, experts, tensor_parallel
from stepscope.planning.time.parts import LayerTime, PassTime


def layer(shape: ModelShape, layout: Layout, platform: Platform, sparse: bool) -> LayerTime:
    """The time of a layer with experts (`sparse`) or an MLP."""
    found = LayerTime()
    _multiplications(found, shape, layout, platform, sparse)
    core = _attention(found, shape, layout, platform)
    _elementwise(found, shape, layout, platform, sparse)
    tensor_parallel(found, shape, layout, platform, sparse)
    context_parallel(found, shape, layout, platform)
    if sparse:
        experts(found, shape, layout, platform)
    for one in (found.forward, found.backward):
        one.dispatch = max(0.0, one.kernels * platform.launch - one.seconds)
    found.again = _again(found, shape, layout, platform, core, sparse)
    return found


def _again(
    found: LayerTime, shape: ModelShape, layout: Layout, platform: Platform, core: PassTime, sparse: bool
) -> PassTime:
    """What recomputation adds, as a mean over layers."""
    if layout.recompute is Recompute.FULL:
        return found.forward.scaled(1.0)
    if layout.recompute is Recompute.LAYERS:
        return found.forward.scaled(min(1.0, layout.recomputed_layers / shape.layers))
    if layout.recompute is Recompute.SELECTIVE:
        # Fused attention computes its scores again as it is; only unfused attention is recomputed.
        return core if layout.attention == "unfused" else PassTime()
    if layout.recompute in (Recompute.MODULES, Recompute.EXPERTS):
        latent = shape.latent
        up = 0.0
        if latent:
            wide = shape.query_width / layout.tp
            both = shape.heads * (latent.nope + latent.value) / layout.tp
            up = gemm(layout.tokens, wide, latent.query_rank or shape.hidden, layout.precision, platform)
            up += gemm(layout.tokens, both, latent.kv_rank, layout.precision, platform)
        if layout.recompute is Recompute.EXPERTS and sparse:
            attention = (4 + bool(latent.query_rank)) if latent else 2
            mixture = multiplications(shape, layout, sparse)[attention:]
            up += sum(gemm(*one[:3], layout.precision, platform, one[3]) / aligned(*one[1:3]) for one in mixture)
            return PassTime(gemm=up, elementwise=found.forward.elementwise, expert_comm=found.forward.expert_comm)
        # About half of the element-wise work is of norms and activations; the rest adds to the residual stream.
        return PassTime(gemm=up, elementwise=0.5 * found.forward.elementwise)
    if layout.recompute is Recompute.OPERATORS:
        # Every other multiplication and all that is element-wise; attention and its collectives are kept.
        share = _recomputed_multiplications(shape)
        return PassTime(gemm=share * found.forward.gemm, elementwise=found.forward.elementwise,
                    tensor_comm=0.5 * found.forward.tensor_comm)  # fmt: skip
    return PassTime()


def _recomputed_multiplications(shape: ModelShape) -> float:
    """Of a layer's matrix multiplications the share in every second one: of key, projection and gate (or up)."""
    width = shape.active_experts * shape.expert_ffn + shape.shared_ffn if shape.experts else shape.ffn
    whole = shape.query_width + 2 * shape.kv_width + shape.value_width + (3 if shape.gated else 2) * width
    return (shape.kv_width + shape.value_width + width) / whole


def _multiplications(found: LayerTime, shape: ModelShape, layout: Layout, platform: Platform, sparse: bool) -> None:
    for rows, columns, depth, count in multiplications(shape, layout, sparse):
        kept = aligned(columns, depth)
        found.forward.gemm += gemm(rows, columns, depth, layout.precision, platform, count) / kept
        # Gradients of the input and of the weights.
        found.backward.gemm += gemm(rows, depth, columns, layout.precision, platform, count) / kept
        found.forward.kernels += count
        found.backward.kernels += 2 * count
        if layout.lora:
            _low_rank(found, (rows, columns, depth, count), layout, platform)
            continue
        found.backward.gemm += gemm(columns, depth, rows, layout.precision, platform, count) / kept
        found.backward.gemm += _summed(layout, platform) * columns * depth * count / platform.memory_bandwidth


def _low_rank(found: LayerTime, sizes: tuple[float, float, float, float], layout: Layout, platform: Platform) -> None:
    """The two narrow multiplications beside a frozen one, in 16 bits, and the sum of both results."""
    rows, columns, depth, count = sizes
    one = gemm(rows, layout.lora, depth, "bf16", platform, count) + gemm(
        rows, columns, layout.lora, "bf16", platform, count
    )
    added = 6.0 * rows * columns * count / platform.memory_bandwidth
    found.forward.gemm += one
    found.backward.gemm += 2 * one
    found.forward.elementwise += added
    found.backward.elementwise += 6.0 * rows * depth * count / platform.memory_bandwidth
    found.forward.kernels += 3 * count
    found.backward.kernels += 4 * count


def _summed(layout: Layout, platform: Platform) -> float:
    """Bytes per weight that summing its gradient over micro-batches reads and writes.

    Megatron sums in fp32 within the multiplication: 4 read, 4 written; on NPUs by an operator of its own, which reads
    the 16-bit gradient once more. DeepSpeed's pipeline leaves it to autograd in
    fp16 (2 + 2 read, 2 written); its BF16_Optimizer widens (2, 4) and adds (4 + 4, 4): runtime/bf16_optimizer.py. FSDP2
    adds to whole gradients in fp32 (2 + 4, 4) where it does not reduce each micro-batch's, as in a pipeline.
    """
    narrow = 4.0 if layout.narrow_reduction else 0.0
    if layout.framework is Framework.MEGATRON:
        return (10.0 if platform.separate else 8.0) - narrow
    if layout.framework is Framework.DEEPSPEED and layout.pp > 1:
        return 18.0 if layout.precision == "bf16" else 6.0
    if layout.framework in (Framework.FSDP, Framework.TORCHTITAN) and (layout.pp > 1 or not layout.reduce_each):
        return 10.0 - narrow if layout.zero >= 2 and layout.micro_batches > 1 else 0.0
    return 0.0


def _attention(found: LayerTime, shape: ModelShape, layout: Layout, platform: Platform) -> PassTime:
    """Attention's scores and their use; returns what selective recomputation computes again."""
    context = shape.mean_context(layout.seq)
    widths = 2.0 * (shape.query_width + shape.value_width) / layout.tp
    half = platform.peak("bf16") if layout.precision != "fp32" else platform.peak("fp32")
    if layout.attention != "unfused":
        flops = layout.tokens * context * widths / 2  # the causal half
        head = shape.query_width // shape.heads
        for one, factor, backward in ((found.forward, 1.0, False), (found.backward, 2.5, True)):
            one.attention += (
                factor * flops / (half * attention_share(platform, layout.attention, head, context, backward))
            )
            one.attention *= _imbalance(layout)
            one.kernels += layout.cp
        return PassTime()
    # Scores are written and read whole: multiplied, masked and normalised, dropped out, multiplied.
    heads = shape.heads / layout.tp
    elements = layout.tokens * context * heads
    drop = 5.0 if shape.dropout else 0.0
    core = PassTime(kernels=5)
    narrow = aligned(shape.query_width // shape.heads)
    math = layout.tokens * context * widths / (half * platform.share("bf16") * 0.6 * narrow)
    core.attention = max(math, 4.0 * elements / platform.memory_bandwidth)
    core.elementwise = (4.0 + drop) * elements / platform.memory_bandwidth
    found.forward.attention += core.attention
    found.forward.elementwise += core.elementwise
    found.forward.kernels += core.kernels
    found.backward.attention += max(2 * math, 8.0 * elements / platform.memory_bandwidth)
    found.backward.elementwise += (6.0 + drop) * elements / platform.memory_bandwidth
    found.backward.kernels += 9
    return core


def _imbalance(layout: Layout) -> float:
    """How much more of a causal mask's work the last rank of a sequence has than the mean one.

    Megatron deals out chunks from both ends of the sequence. Where ranks keep what lies together, the last one has (2 -
    1/n) of the mean; PyTorch's published runs with 2 to 8 ranks per sequence lie at about 0.7 of that.
    """
    return 1.0 if layout.framework is Framework.MEGATRON else 1.0 + 0.7 * (1.0 - 1.0 / layout.cp)


def _elementwise(found: LayerTime, shape: ModelShape, layout: Layout, platform: Platform, sparse: bool) -> None:
    """Norms, residuals, activations, rotary positions: what they read and write, at the memory's rate."""
    stream = shape.hidden / layout.split
    wide = shape.active_experts * shape.expert_ffn + shape.shared_ffn if sparse else shape.ffn
    inner = wide / layout.tp
    turned = (shape.query_width + shape.kv_width) / layout.tp if shape.rotary else 0.0
    drop = 1.0 if shape.dropout else 0.0
    eager = not layout.compiled and layout.framework is not Framework.MEGATRON
    # Megatron's norms are kernels also where positions and activations are not: MindSpeed without its fused ones.
    apart = not layout.compiled and platform.separate and layout.framework is Framework.MEGATRON
    # Bytes per token: two norms (read, write), two residual sums (read two, write one, masks), the activation.
    forward = stream * (2 * 4 + 2 * (6 + drop)) + inner * (6 if shape.gated else 4) + 4 * turned
    backward = stream * (2 * 8 + 2 * (4 + drop)) + inner * (10 if shape.gated else 6) + 4 * turned
    forward_kernels, backward_kernels = 8.0, 10.0
    if eager:
        # RMSNorm in fp32 step by step; LayerNorm is one kernel, which autocast lets write fp32 that is converted back.
        # Positions as fp32 complex numbers, an activation apart from its gate.
        norms = (0, 0) if shape.half_norms else (8, 8) if shape.layer_norm else (20, 24)
        forward += stream * 2 * norms[0] + inner * (4 if shape.gated else 0) + 16 * turned
        backward += stream * 2 * norms[1] + inner * (6 if shape.gated else 0) + 20 * turned
        forward_kernels, backward_kernels = (20.0, 28.0) if shape.layer_norm else (32.0, 45.0)
    if apart:
        forward += inner * (4 if shape.gated else 0) + 16 * turned
        backward += inner * (6 if shape.gated else 0) + 20 * turned
        forward_kernels, backward_kernels = (forward_kernels + 8, backward_kernels + 10)
    if platform.separate:
        # Norms take twice their bytes' time. Queries, keys and values are cut from one tensor, their gradients joined.
        cut = (shape.query_width + 2 * shape.kv_width) / layout.tp
        forward, backward = forward + stream * 2 * 4 + 4 * cut, backward + stream * 2 * 8 + 4 * cut
    if layout.precision == "fp8":
        # Inputs of multiplications are converted, and transposed for the backward pass: read 2, write 1 + 1.
        routed = shape.active_experts * shape.hidden / layout.split if sparse else stream * layout.split
        cast = (stream * layout.split + routed + inner + shape.value_width / layout.tp) * 4
        forward, backward = forward + cast, backward + cast
        forward_kernels, backward_kernels = forward_kernels + 8, backward_kernels + 8
    if sparse:
        rows = shape.active_experts * shape.hidden / layout.split
        # Rows are copied for each expert and in the end summed (read once, written; read, written once), sorted by
        # expert and put back: 4 each. Those that came from other ranks are sorted once more, to and fro.
        each = 12.0 if layout.ep > 1 and shape.experts > layout.ep else 8.0
        forward, backward = forward + each * rows, backward + each * rows
        forward_kernels, backward_kernels = forward_kernels + 25, backward_kernels + 30
        if layout.precision == "fp8":
            # Each expert's rows are converted by themselves.
            local = shape.experts / layout.ep
            forward_kernels, backward_kernels = forward_kernels + 4 * local, backward_kernels + 6 * local
    for one, amount, kernels in (
        (found.forward, forward, forward_kernels),
        (found.backward, backward, backward_kernels),
    ):
        one.elementwise += layout.tokens * amount / platform.memory_bandwidth + kernels * platform.gap
        one.kernels += kernels
