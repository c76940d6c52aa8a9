"""Judge one layout of a model on a platform: memory, time, and whether it fits."""

from __future__ import annotations

from stepscope.planning.family.counts import flops_per_token
from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Layout, Recompute
from stepscope.planning.machine.platform import Platform
from stepscope.planning.memory.total import memory
from stepscope.planning.result import JudgedPlan
from stepscope.planning.time.step import step


def judge(shape: ModelShape, layout: Layout, platform: Platform) -> JudgedPlan:
    """What a layout takes; the layout is taken to be possible (`layout.check`)."""
    taken = memory(shape, layout, platform)
    time = step(shape, layout, platform)
    tokens = layout.global_batch * layout.seq
    flops = flops_per_token(shape, layout.seq, frozen=layout.lora > 0) * tokens
    return JudgedPlan(
        layout=layout,
        memory=taken,
        time_ns={name: round(value * 1e9) for name, value in time.parts.items()},
        stages_ns=tuple((round(one * 1e9), round(two * 1e9)) for one, two in time.stages),
        tokens=tokens,
        model_flops=flops,
        hardware_flops=flops * _computed_again(shape, layout),
        peak=platform.peak(layout.precision),
        devices=layout.devices,
    )


def _computed_again(shape: ModelShape, layout: Layout) -> float:
    """FLOPs with recomputation, as a multiple of those without: a whole forward pass is a third."""
    if layout.recompute is Recompute.FULL:
        return 4 / 3
    if layout.recompute is Recompute.LAYERS:
        return 1 + min(1.0, layout.recomputed_layers / shape.layers) / 3
    return 1.0
