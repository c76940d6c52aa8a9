"""The time of a step, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Final

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout, Schedule
from stepscope.planning.machine.platform import Platform
from stepscope.planning.machine.topology import send
from stepscope.planning.stages import Stage, stages_of
from stepscope.planning.time.ends import embedding, head
from stepscope.planning.time.layer import layer
from stepscope.planning.time.parts import LayerTime, PassTime
from stepscope.planning.time.replicas import optimizer, replicas

#: How far the speeds of equal devices lie apart, as a standard deviation: differences of 5 % and more are seen in one
#: server of eight (S. Bekman, Machine Learning Engineering). All wait for the slowest of n, which lies about
#: sqrt(2 ln n) deviations off the mean.
SPREAD: Final = 0.012
_DEVICE: Final = ("gemm", "attention", "elementwise", "recomputation")


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of a step.

    Attributes:
        parts: By what they are spent on, on the stage that takes longest; they add up to the step.
        stages: Seconds per micro-batch of every stage, forward and backward.
        bubble: Share of the step that the busiest stage waits for others.
        moved: Seconds of the replicas' collectives, hidden or not.
    """

    parts: dict[str, float]
    stages: tuple[tuple[float, float], ...]
    bubble: float
    moved: float

    @property
    def seconds(self) -> float:
        """The step."""
        return sum(self.parts.values())


def step(shape: ModelShape, layout: Layout, platform: Platform) -> StepTime:
    """How long a step takes."""
    dense = layer(shape, layout, platform, False) if shape.layers > shape.moe_layers else LayerTime()
    sparse = layer(shape, layout, platform, True) if shape.moe_layers else LayerTime()
    every = stages_of(shape, layout)
    passes = [_stage(shape, layout, platform, one, dense, sparse) for one in every]
    times = [(forward.seconds, backward.seconds + again.seconds) for forward, backward, again in passes]
    busiest = max(range(len(every)), key=lambda at: sum(times[at]))
    forward, backward, again = passes[busiest]
    count = layout.micro_batches
    bubble = _bubble(layout, times, busiest, backward)
    transfers = _transfers(shape, layout, platform)
    shared = replicas(shape, layout, platform, every[busiest], forward.seconds, backward.seconds + again.seconds)
    whole = forward.plus(backward)
    parts = {
        "gemm": count * whole.gemm,
        "attention": count * whole.attention,
        "elementwise": count * whole.elementwise,
        "tensor parallel": count * whole.tensor_comm,
        "context parallel": count * whole.context_comm,
        "expert parallel": count * whole.expert_comm,
        "dispatch": count * whole.dispatch,
        "recomputation": count * again.seconds,
        "pipeline transfers": transfers,
        "bubble": bubble,
        "data parallel": shared.exposed + shared.slowed,
        "optimizer": optimizer(shape, layout, platform, every[busiest]),
    }
    parts["slowest device"] = SPREAD * sqrt(2 * log(max(2, layout.devices))) * sum(parts[name] for name in _DEVICE)
    kept = {name: value for name, value in parts.items() if value > 0}
    return StepTime(kept, tuple(times), bubble / sum(kept.values()), shared.moved)


def _stage(
    shape: ModelShape, layout: Layout, platform: Platform, stage: Stage, dense: LayerTime, sparse: LayerTime
) -> tuple[PassTime, PassTime, PassTime]:
    """Forward, backward and recomputation of a stage for one micro-batch."""
    forward = dense.forward.scaled(stage.dense).plus(sparse.forward.scaled(stage.sparse))
    backward = dense.backward.scaled(stage.dense).plus(sparse.backward.scaled(stage.sparse))
    again = dense.again.scaled(stage.dense).plus(sparse.again.scaled(stage.sparse))
    ends = []
    if stage.first:
        ends.append(embedding(shape, layout, platform))
    if stage.last:
        ends.append(head(shape, layout, platform))
    for one, two in ends:
        forward, backward = forward.plus(one), backward.plus(two)
    return forward, backward, again


def _bubble(layout: Layout, times: list[tuple[float, float]], busiest: int, backward: PassTime) -> float:
    """Seconds that the busiest stage waits for others to start and to end.

    1F1B and GPipe: a micro-batch's way through all other stages; interleaved: divided by the chunks (Narayanan et al.
    2021, section 2.2). Zero-bubble (Qi et al. 2023, arXiv 2401.10241): gradients of weights fill what they can of it.
    DualPipe (DeepSeek-V3, arXiv 2412.19437): half the stages' forward and backward without those.
    """
    others = sum(one + two for at, (one, two) in enumerate(times) if at != busiest)
    if layout.schedule is Schedule.ZERO_BUBBLE:
        # About half of the backward pass's multiplications are gradients of weights, twice: ZB-H1 hides two of three.
        return max(0.0, others - (layout.pp - 1) * backward.gemm)
    if layout.schedule is Schedule.DUAL_PIPE:
        return max(0.0, 0.5 * (others - 1.5 * (layout.pp - 1) * 0.5 * backward.gemm))
    return others / layout.virtual_stages


def _transfers(shape: ModelShape, layout: Layout, platform: Platform) -> float:
    """Seconds of sends between stages that nothing hides: Megatron's tensor-parallel ranks send a part each."""
    if layout.pp == 1:
        return 0.0
    between = layout.tp * layout.dp * layout.cp >= platform.per_server
    # DeepSpeed's pipeline sends whole tensors from every rank: gradients are not partitioned (runtime/pipe/engine.py),
    # and published runs lie where activations are not, either.
    parts = 1 if layout.framework is Framework.DEEPSPEED else layout.tp
    one = send(2.0 * layout.tokens * shape.hidden / parts, between, platform)
    crossings = 2 * layout.virtual_stages
    # Each waits for the other in 1F1B; an interleaved schedule sends beside the next chunk's work.
    exposed = 1.0 if layout.virtual_stages == 1 else 0.5
    return exposed * crossings * one * layout.micro_batches
