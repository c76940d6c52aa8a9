"""The stage of a pipeline that a rank runs: its layers, and the ranks it exchanges data with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stepscope.simulate.job import SimJob


@dataclass(frozen=True, slots=True)
class RankGroup:
    """A process group: its name, what it is for, and its ranks."""

    name: str
    description: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PipelineStage:
    """A rank's place.

    Attributes:
        index: The stage.
        layers: Its blocks, as the numbers they have in the model.
        replicas: The ranks that run the same stage on other batches.
        pipe: The ranks of a pipeline, in order of stages.
        part: Which of the parts of the model that the rank holds.
        parts: How many it holds, which are interleaved with those of the others (virtual stages).
    """

    index: int
    layers: range
    replicas: RankGroup
    pipe: RankGroup
    part: int = 0
    parts: int = 1

    @property
    def first(self) -> bool:
        """Whether it is the first stage of the model."""
        return self.index == 0 and self.part == 0

    @property
    def last(self) -> bool:
        """Whether it ends the model, with head and loss."""
        return self.index == len(self.pipe.ranks) - 1 and self.part == self.parts - 1

    def interleaved(self, job: SimJob) -> tuple[PipelineStage, ...]:
        """The parts of the model that the rank holds, in order: of S ranks every S-th, all of as many layers."""
        size = job.layers // (job.stages * job.virtual_stages)
        return tuple(
            replace(self, layers=range(first, first + size), part=part, parts=job.virtual_stages)
            for part in range(job.virtual_stages)
            for first in ((part * job.stages + self.index) * size,)
        )


def stage_of(job: SimJob, rank: int) -> PipelineStage:
    """The stage of a rank; neighbouring ranks are replicas of one stage, as Megatron places them."""
    width = job.ranks // job.stages
    index, place = divmod(rank, width)
    last = job.last_stage_layers or job.layers // job.stages
    # The stages before the last one share the others evenly, the earlier ones taking what is left over.
    share, over = divmod(job.layers - last, max(job.stages - 1, 1))
    sizes = [share + (i < over) for i in range(job.stages - 1)] + [last if job.stages > 1 else job.layers]
    start = sum(sizes[:index])
    replicas = tuple(range(index * width, (index + 1) * width))
    alone = job.stages == 1
    return PipelineStage(
        index,
        range(start, start + sizes[index]),
        RankGroup("0", "default_pg", replicas) if alone else RankGroup(f"{1 + index}", "DATA_PARALLEL_GROUP", replicas),
        RankGroup(f"{1 + job.stages + place}", "PIPELINE_MODEL_PARALLEL_GROUP", tuple(range(place, job.ranks, width))),
    )


def levels_of(job: SimJob, rank: int) -> list[RankGroup]:
    """The groups in which a rank reduces gradients one after the other, without a pipeline."""
    inner = job.inner_ranks
    if not inner:
        return [stage_of(job, rank).replicas]
    index, place = divmod(rank, inner)
    return [
        RankGroup(f"{1 + index}", "mesh_dp_shard", tuple(range(index * inner, (index + 1) * inner))),
        RankGroup(f"{1 + job.ranks // inner + place}", "mesh_dp_replicate", tuple(range(place, job.ranks, inner))),
    ]


def experts_of(job: SimJob) -> RankGroup:
    """The ranks over which experts are spread: all."""
    return RankGroup("1", "EXPERT_MODEL_PARALLEL_GROUP", tuple(range(job.ranks)))
