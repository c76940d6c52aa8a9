"""The memory that a layout takes on its fullest device, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout, Recompute
from stepscope.planning.machine.platform import Platform
from stepscope.planning.memory.activations import kept_by_layer
from stepscope.planning.memory.passing import gathered, logits, working
from stepscope.planning.memory.states import state_parts
from stepscope.planning.stages import Stage, in_flight, stages_of

#: Share of what comes and goes that lies idle between allocations: fused or compiled programs, and eager ones.
_FRAGMENTED: Final = {True: 0.03, False: 0.05}
#: Of a process in the years before CUDA 11.7 loaded kernels when they are first used: 1,573 MiB on an A100 (BigScience,
#: train/tr11-176B-ml/chronicles-prequel.md).
_EAGER_CONTEXT: Final = 1573 << 20
#: Memory that can be used of what a device has: firmware and page tables take the rest.
USABLE: Final = 0.985
#: From this share of it on, a plan is called tight.
TIGHT: Final = 0.95


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory of the fullest device.

    Attributes:
        parts: Bytes by part; their sum is `allocated_bytes`.
        outside: Bytes beyond the framework's allocator, by part.
        stage: The pipeline stage that it is of.
        usable_bytes: What the device has for all of it.
    """

    parts: dict[str, int]
    outside: dict[str, int]
    stage: int
    usable_bytes: int

    @property
    def allocated_bytes(self) -> int:
        """What the framework's allocator reserves at its peak, which is what publications quote."""
        return sum(self.parts.values())

    @property
    def device_bytes(self) -> int:
        """What the device must have: that, and context and buffers of collectives beside it."""
        return self.allocated_bytes + sum(self.outside.values())

    @property
    def fits(self) -> bool:
        """Whether the device has it."""
        return self.device_bytes <= self.usable_bytes

    @property
    def tight(self) -> bool:
        """Whether less than 5 % of the device's memory is left."""
        return self.fits and self.device_bytes > TIGHT * self.usable_bytes


def memory(shape: ModelShape, layout: Layout, platform: Platform) -> MemoryUse:
    """The memory of the fullest stage."""
    every = stages_of(shape, layout)
    # In between, no stage has more layers than the second, nor more in flight.
    looked_at = {every[0], every[min(1, len(every) - 1)], every[-1]}
    found = [(_stage(shape, layout, stage), stage.index) for stage in looked_at]
    parts, at = max(found, key=lambda one: (sum(one[0].values()), -one[1]))
    return MemoryUse(
        parts={name: round(value) for name, value in parts.items() if value >= 1},
        outside=_outside(layout, platform),
        stage=at,
        usable_bytes=round(USABLE * platform.memory_bytes),
    )


def _stage(shape: ModelShape, layout: Layout, stage: Stage) -> dict[str, float]:
    parts = state_parts(shape, layout, stage)
    flying = in_flight(layout, stage.index)
    kept = flying * (
        stage.dense * kept_by_layer(shape, layout, False) + stage.sparse * kept_by_layer(shape, layout, True)
    )
    if layout.framework is Framework.DEEPSPEED and layout.pp > 1:
        # Its pipeline keeps what a stage sent on, too; Megatron frees that (runtime/pipe/engine.py).
        kept += flying * 2.0 * layout.tokens * shape.hidden
    if stage.first:
        # Token numbers (int64), and the embedding's dropout mask.
        kept += flying * layout.tokens * (8.0 + (shape.hidden / layout.split if shape.dropout else 0.0))
    held_on, passing = gathered(shape, layout, stage)
    loss, work = logits(shape, layout, stage), working(shape, layout, stage)
    if layout.recompute is Recompute.FULL and stage.last:
        loss += 4.0 * layout.tokens * shape.hidden / layout.split  # the final norm's input and output
    # Logits are gone when the last layer's backward pass works, gathered layers when logits are there.
    at_loss = loss
    at_work = work + passing
    parts["activations"] = kept
    if at_loss > at_work:
        parts["logits"] = at_loss
        parts["gathered"] = held_on
    else:
        parts["working"] = work
        parts["gathered"] = held_on + passing
    moving = kept + max(at_loss, at_work)
    deepspeed = layout.framework is Framework.DEEPSPEED
    if deepspeed and layout.precision == "fp16" and layout.zero < 2:
        # Gradients are freed by each step, and allocated anew among the activations of the next.
        moving += parts["gradients"]
    fused = layout.framework is Framework.MEGATRON or (layout.compiled and not deepspeed)
    parts["fragmentation"] = _FRAGMENTED[fused] * moving
    return parts


def _outside(layout: Layout, platform: Platform) -> dict[str, int]:
    """Context, and buffers of one communicator per kind of group that has more than one rank."""
    sizes = (layout.tp, layout.pp, layout.dp * layout.cp, layout.cp, layout.ep)
    groups = sum(size > 1 for size in sizes)
    if layout.framework is Framework.DEEPSPEED and layout.pp > 1:
        # Megatron's groups and those of DeepSpeed's PipelineParallelGrid are communicators of their own.
        groups *= 2
    context = platform.context_bytes
    if layout.attention == "unfused" and platform.collectives == "NCCL":
        context = max(context, _EAGER_CONTEXT)
    return {"context": context, "communication": groups * platform.channel_bytes}
