"""Collectives of a layer: among the ranks of tensor parallelism, of a sequence, and of experts."""

from __future__ import annotations

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Layout
from stepscope.planning.machine.gemm import aligned, gemm
from stepscope.planning.machine.platform import Platform
from stepscope.planning.machine.topology import LinkGroup, all_reduce, all_to_all, gather
from stepscope.planning.multiplications import multiplications
from stepscope.planning.time.parts import CONTENTION, LayerTime


def tensor_parallel(found: LayerTime, shape: ModelShape, layout: Layout, platform: Platform, sparse: bool) -> None:
    """All-reduces (or all-gather and reduce-scatter) of the residual stream: two forward, two backward.

    Backward, Megatron lets half of them run beside the gradients of the weights.
    """
    if layout.tp == 1:
        return
    group = LinkGroup.of(layout.tp, 1, platform)
    size = 2.0 * layout.tokens * shape.hidden
    one = all_reduce(size, group, platform) if not layout.sequence_parallel else 2 * gather(size, group, platform)
    if layout.tp_overlap:
        both = _beside_multiplications(one / 2, shape, layout, platform, sparse)
        found.forward.tensor_comm = both
        found.backward.tensor_comm = both
        return
    found.forward.tensor_comm = 2 * one
    # With sequence parallelism the input is gathered once more for the gradients of the weights.
    whole = 2 * one + (2 * gather(size, group, platform) if layout.sequence_parallel else 0.0)
    hidden = min(found.backward.gemm / 2, one + (whole - 2 * one))
    found.backward.tensor_comm = whole - hidden + CONTENTION * hidden


def _beside_multiplications(each: float, shape: ModelShape, layout: Layout, platform: Platform, sparse: bool) -> float:
    """What is seen of a pass's four collectives of `each` seconds that run in parts beside multiplications.

    One is gathered before and one scattered after attention's multiplications and the MLP's. A quarter of a collective
    is seen at least, and all that takes longer than the multiplication it belongs to. Experts have no such
    multiplications: neither Transformer Engine's grouped ones nor MindSpeed's MC2 (docs/zh/features/mc2.md).
    """
    *inner, projection, wide, back = _seconds_of(shape, layout, platform)
    beside = [sum(inner), projection] if sparse else [sum(inner), projection, wide, back]
    seen = sum(max(0.25 * each, each - one) for one in beside)
    return seen + (4 - len(beside)) * each


def _seconds_of(shape: ModelShape, layout: Layout, platform: Platform) -> list[float]:
    """Seconds of each multiplication of a layer with an MLP, forward."""
    return [
        gemm(rows, columns, depth, layout.precision, platform, count) / aligned(columns, depth)
        for rows, columns, depth, count in multiplications(shape, layout, False)
    ]


def context_parallel(found: LayerTime, shape: ModelShape, layout: Layout, platform: Platform) -> None:
    """Keys and values go round the ranks of a sequence; what attention takes meanwhile is hidden."""
    if layout.cp == 1:
        return
    group = LinkGroup.of(layout.cp, layout.tp, platform)
    size = 2.0 * layout.tokens * layout.cp * 2 * shape.kv_width / layout.tp
    one = gather(size, group, platform)
    for each, times in ((found.forward, 1.0), (found.backward, 2.0)):
        each.context_comm = max(0.0, times * one - each.attention) + CONTENTION * min(times * one, each.attention)


def experts(found: LayerTime, shape: ModelShape, layout: Layout, platform: Platform) -> None:
    """Tokens go to their experts and back: two all-to-alls forward and two backward."""
    if layout.ep == 1:
        return
    group = LinkGroup.of(layout.ep, layout.expert_split, platform)
    size = 2.0 * layout.tokens * shape.active_experts * shape.hidden / layout.split
    crossing = _crossings(shape, group) / shape.active_experts if layout.grouped_dispatch else 1.0
    one = 2 * all_to_all(size, group, platform, crossing)
    for each in (found.forward, found.backward):
        hidden = min(one, each.compute) if layout.ep_overlap else 0.0
        each.expert_comm = one - (1 - CONTENTION) * hidden


def _crossings(shape: ModelShape, group: LinkGroup) -> float:
    """Servers that a token's experts lie on, as a mean: at most so many as its routing is limited to."""
    servers = group.size / group.inside
    spread = servers * (1 - (1 - 1 / servers) ** shape.active_experts)
    return min(spread, shape.routed_groups or spread)
