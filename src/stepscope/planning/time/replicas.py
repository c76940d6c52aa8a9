"""Collectives among replicas: gradients, and weights that are sharded; and the optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout
from stepscope.planning.machine.platform import Platform
from stepscope.planning.machine.topology import LinkGroup, all_reduce, gather
from stepscope.planning.memory.states import expert_shards, held, per_parameter
from stepscope.planning.stages import Stage
from stepscope.planning.time.parts import CONTENTION


@dataclass(frozen=True, slots=True)
class ReplicaTime:
    """Seconds per step that replicas cost.

    Attributes:
        exposed: Of collectives that no compute hides.
        slowed: By which compute is longer because of those that overlap with it.
        moved: Of all of them, hidden or not.
    """

    exposed: float
    slowed: float
    moved: float


#: Bytes per parameter and micro-batch that FSDP moves to and from its buffers. FSDP2 copies gathered weights out of the
#: buffer, forward and backward (2 x (2 + 2)), and gradients into one as wide as they are reduced (2 + 4 or 2 + 2, added
#: to this); FSDP1 joins gradients (2 + 2), widens (2 + 4) and divides them (4 + 4).
_COPIED: Final = 8.0


def replicas(
    shape: ModelShape, layout: Layout, platform: Platform, stage: Stage, forward: float, backward: float
) -> ReplicaTime:
    """What replicas cost a stage whose layers take `forward` and `backward` seconds for a micro-batch."""
    mine = held(shape, layout, stage)
    ranks = layout.dp * layout.cp
    if ranks == 1 and layout.sharded_over == 1:
        return ReplicaTime(0.0, 0.0, 0.0)
    group = LinkGroup.of(layout.sharded_over, layout.tp, platform)
    expert_group = LinkGroup.of(expert_shards(layout), layout.tp * layout.ep, platform)
    fp32 = layout.framework in (Framework.MEGATRON, Framework.FSDP, Framework.TORCHTITAN) or layout.precision == "fp32"
    fp32 = fp32 or (layout.precision == "bf16" and layout.pp > 1)
    width = 4.0 if fp32 and not layout.narrow_reduction else 2.0
    if layout.lora:
        width = 0.0  # frozen weights have no gradients, and those of the few others are too small to count
    if layout.zero >= 3 or (layout.zero == 2 and layout.framework in (Framework.FSDP, Framework.TORCHTITAN)):
        numbers, groups = (mine.common, mine.experts), (group, expert_group)
        return _sharded(layout, platform, stage.layers, numbers, groups, (forward, backward), width)
    if layout.lora:
        return ReplicaTime(0.0, 0.0, 0.0)
    reduced = weights = 0.0
    for number, one in ((mine.common, group), (mine.experts, expert_group)):
        if layout.zero >= 1:
            reduced += gather(width * number, one, platform)
            weights += gather(2.0 * number, one, platform)
        else:
            reduced += all_reduce(width * number, one, platform)
    if layout.shards and ranks > layout.sharded_over:
        outer = LinkGroup.of(ranks // layout.sharded_over, layout.tp * layout.sharded_over, platform)
        reduced += all_reduce(width * mine.total / layout.sharded_over, outer, platform)
    if not layout.overlap or (layout.framework is Framework.DEEPSPEED and layout.pp > 1):
        # DeepSpeed's pipeline reduces gradients after its last micro-batch.
        return ReplicaTime(reduced + weights, 0.0, reduced + weights)
    # Gradients overlap with the last micro-batch's backward pass but for the last bucket, weights with the forward
    # pass of the next step's first one.
    hidden = min(reduced, 0.9 * backward) + min(weights, 0.9 * forward)
    return ReplicaTime(reduced + weights - hidden, CONTENTION * hidden, reduced + weights)


def _sharded(
    layout: Layout,
    platform: Platform,
    layers: int,
    numbers: tuple[float, float],
    groups: tuple[LinkGroup, LinkGroup],
    spans: tuple[float, float],
    width: float,
) -> ReplicaTime:
    """FSDP and ZeRO-3: weights are gathered for each pass of each micro-batch, gradients reduced where they are shed.

    With a pipeline, weights are gathered and gradients reduced once per step.
    """
    forward, backward = spans
    weights = sum(gather(2.0 * n, g, platform) for n, g in zip(numbers, groups, strict=True))
    grads = sum(gather(width * n, g, platform) for n, g in zip(numbers, groups, strict=True))
    ranks = layout.dp * layout.cp
    if layout.shards and ranks > layout.sharded_over:
        outer = LinkGroup.of(ranks // layout.sharded_over, layout.tp * layout.sharded_over, platform)
        grads += all_reduce(width * sum(numbers) / layout.sharded_over, outer, platform)
    passes = 1 if layout.pp > 1 else layout.micro_batches
    again = 1.0 if layout.zero == 3 and layout.pp == 1 else 0.0
    if layout.offload == "weights":
        weights += 2.0 * sum(numbers) / layout.sharded_over / platform.host_link
    reductions = passes if layout.reduce_each else 1
    moved = passes * weights * (1 + again) + reductions * grads
    if layout.framework is Framework.DEEPSPEED:
        # ZeRO-3 gathers and reduces matrix by matrix, each on a ring of all ranks; the hops, which nothing hides, take
        # as long as ranks are many. Four matrices per layer, three times; 24 us per hop on an A100 cluster.
        hops = 12 * layers * (groups[0].size - 1) * 4 * platform.latency if groups[0].across else 0.0
        return ReplicaTime(passes * hops + max(0.0, moved - passes * (forward + backward)), CONTENTION * moved, moved)
    copied = passes * (_COPIED + (2.0 + width if width else 0.0)) * sum(numbers) / platform.memory_bandwidth
    if not layout.overlap:
        return ReplicaTime(moved + copied, 0.0, moved)
    # The first gather and the last reduction have nothing beside them.
    edges = (passes * weights + reductions * grads) * 0.04
    quiet = passes - reductions
    exposed = passes * max(0.0, weights - forward) + quiet * max(0.0, again * weights - backward)
    exposed += reductions * max(0.0, again * weights + grads - backward) + edges
    return ReplicaTime(exposed + copied, CONTENTION * max(0.0, moved - exposed), moved)


def optimizer(shape: ModelShape, layout: Layout, platform: Platform, stage: Stage) -> float:
    """Seconds of clipping and of the optimizer's step.

    Per parameter of a device's shard: gradients are read for their norm and again, state and weights read and written,
    16-bit weights written. An optimizer on the host moves gradients down and weights up.
    """
    if layout.lora:
        return 2e-3
    mine = held(shape, layout, stage)
    number = mine.common / (layout.sharded_over if layout.zero >= 1 else 1)
    number += mine.experts / (expert_shards(layout) if layout.zero >= 1 else 1)
    each = per_parameter(layout)
    moved = 3 * each.gradients + 2 * each.optimizer + 2.0
    if layout.zero < 2 and layout.framework is Framework.MEGATRON:
        # Gradients are set to zero for all of the weights, sharded state or not.
        number_all = mine.total
        zeroing = 4.0 * number_all / platform.memory_bandwidth
    else:
        zeroing = 0.0
    if layout.offload != "none":
        # Adam on the host's cores runs at about its memory's rate; both links' ways are used after each other.
        return number * (each.gradients + 2.0) / platform.host_link + number * moved / 100e9
    return number * moved / platform.memory_bandwidth + zeroing + 2e-3
