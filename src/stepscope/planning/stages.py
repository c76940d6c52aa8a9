"""Which part of a model a pipeline stage holds, and how many micro-batches it has in flight."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout, Schedule


@dataclass(frozen=True, slots=True)
class Stage:
    """A pipeline stage.

    Attributes:
        index: From 0, the one with the embedding.
        dense: Its layers with an MLP.
        sparse: Its layers with experts.
        first: Whether it has the embedding.
        last: Whether it has the output layer.
    """

    index: int
    dense: int
    sparse: int
    first: bool
    last: bool

    @property
    def layers(self) -> int:
        """Its layers."""
        return self.dense + self.sparse


@lru_cache(maxsize=4096)
def stages(shape: ModelShape, pp: int, virtual: int, filled: bool = False) -> tuple[Stage, ...]:
    """The stages of a pipeline.

    Layers that do not divide leave the first and the last stage, which have embedding and output layer, with fewer.
    With `filled`, stages are filled from the first one, as DeepSpeed does (PipelineModule, partition_method
    `type:transformer`), unless two more layers would divide: then the ends are counted as a layer each
    (`type:transformer|embedding`).
    """
    chunks = pp * virtual
    base, more = divmod(shape.layers, chunks)
    if filled and more and (shape.layers + 2) % chunks:
        left = [max(0, shape.layers - at * (base + 1)) for at in range(chunks)]
        sizes = [min(base + 1, one) for one in left]
    else:
        # Inner stages get one more first, then the first one, then the last.
        order = [*range(1, chunks - 1), 0, chunks - 1]
        sizes = [base] * chunks
        for at in order[:more]:
            sizes[at] += 1
    starts = [sum(sizes[:at]) for at in range(chunks)]
    found = []
    for at in range(pp):
        mine = range(at, chunks, pp)
        layers = sum(sizes[one] for one in mine)
        dense = layers
        if shape.experts:
            dense = sum(max(0, min(shape.dense_layers, starts[one] + sizes[one]) - starts[one]) for one in mine)
        found.append(Stage(at, dense, layers - dense, at == 0, at == pp - 1))
    return tuple(found)


def stages_of(shape: ModelShape, layout: Layout) -> tuple[Stage, ...]:
    """The stages of a layout's pipeline, as its framework cuts it."""
    return stages(shape, layout.pp, layout.virtual_stages, layout.framework is Framework.DEEPSPEED)


def in_flight(layout: Layout, stage: int) -> float:
    """Micro-batches whose activations a stage holds at most, as multiples of all its layers.

    1F1B: the stages that follow, and its own (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.1). Interleaved: a
    stage starts 2 (p - i - 1) + (v - 1) p chunks before its first backward pass (the same, section 2.2.2), which gives
    p (1 + (p - 1) / (p v)) for the first one. GPipe holds all.
    """
    count = layout.micro_batches
    if layout.pp == 1:
        return 1.0
    if layout.schedule is Schedule.GPIPE:
        return float(count)
    if layout.schedule is Schedule.DUAL_PIPE:
        return float(min(count, layout.pp + 1))
    virtual = layout.virtual_stages
    if virtual == 1:
        return float(min(count, layout.pp - stage))
    chunks = 2 * (layout.pp - stage - 1) + (virtual - 1) * layout.pp + 1
    return min(count * virtual, chunks) / virtual
