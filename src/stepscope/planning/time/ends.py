"""Seconds of embedding and output layer for one micro-batch."""

from __future__ import annotations

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout
from stepscope.planning.machine.gemm import aligned, gemm
from stepscope.planning.machine.platform import Platform
from stepscope.planning.machine.topology import LinkGroup, all_reduce
from stepscope.planning.memory.states import padded_vocab
from stepscope.planning.time.parts import PassTime


def head(shape: ModelShape, layout: Layout, platform: Platform) -> tuple[PassTime, PassTime]:
    """The output layer and the loss, forward and backward; they compute in 16 bits also where layers use fp8."""
    columns = padded_vocab(shape, layout) / layout.tp
    precision = "bf16" if layout.precision == "fp8" else layout.precision
    one = gemm(layout.tokens, columns, shape.hidden, precision, platform)
    two = gemm(layout.tokens, shape.hidden, columns, precision, platform)
    two += 0.0 if layout.lora else gemm(columns, shape.hidden, layout.tokens, precision, platform)
    kept = aligned(columns, shape.hidden)
    # The loss reads and writes logits several times, most of them in fp32; as one kernel, twice and in 16 bits. Whose
    # code has that one, llm-foundry, also computes cross-entropy and perplexity of every batch (use_train_metrics):
    # each widens the logits (2 + 4) and reads and writes their log-softmax (4 + 4).
    if shape.fused_loss or layout.fused_loss:
        bytes_each = (34.0 if shape.fused_loss else 6.0, 6.0)
    else:
        bytes_each = (22.0, 10.0) if layout.framework is Framework.MEGATRON else (30.0, 20.0)
    each = layout.tokens * columns / platform.memory_bandwidth
    forward = PassTime(gemm=one / kept, elementwise=bytes_each[0] * each, kernels=10)
    backward = PassTime(gemm=two / kept, elementwise=bytes_each[1] * each, kernels=10)
    if layout.tp > 1:
        group = LinkGroup.of(layout.tp, 1, platform)
        size = 2.0 * layout.tokens * shape.hidden
        forward.tensor_comm = 3 * all_reduce(4.0 * layout.tokens, group, platform)
        forward.tensor_comm += 0.5 * all_reduce(size, group, platform) if layout.sequence_parallel else 0.0
        backward.tensor_comm = all_reduce(size, group, platform)
    return forward, backward


def embedding(shape: ModelShape, layout: Layout, platform: Platform) -> tuple[PassTime, PassTime]:
    """The embedding's lookup, and the sum of its gradients."""
    size = 2.0 * layout.tokens * shape.hidden
    forward = PassTime(elementwise=2 * size / platform.memory_bandwidth, kernels=5)
    backward = PassTime(elementwise=3 * size / platform.memory_bandwidth, kernels=5)
    if layout.tp > 1:
        forward.tensor_comm = all_reduce(size, LinkGroup.of(layout.tp, 1, platform), platform)
    return forward, backward
