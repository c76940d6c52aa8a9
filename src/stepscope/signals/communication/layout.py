"""How the job divides its model and data among ranks: sizes of tensor, pipeline, data and context parallelism."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.analyses.communication.given_groups import given_for, given_groups
from stepscope.signals.communication.parallelism import parallelism_named
from stepscope.signals.communication.process_groups import world_size
from stepscope.signals.signal import Signals, signal

_GROUPS_SQL: Final = """
SELECT "group", coalesce(any_value(description), '') AS description, coalesce(max(size), max(len(ranks))) AS size,
    coalesce(any_value(ranks), []) AS ranks
FROM groups GROUP BY 1
"""
_CALLED_SQL: Final = 'SELECT DISTINCT "group", collective FROM collectives'
#: Sizes as Megatron and what is derived from it record them.
_RECORDED: Final = {
    "data": "data_parallel_size", "tensor": "tensor_model_parallel_size", "pipeline": "pipeline_model_parallel_size",
    "context": "context_parallel_size", "expert": "expert_model_parallel_size",
}  # fmt: skip
_P2P: Final = ("send", "recv", "send_recv")


@dataclass(frozen=True, slots=True)
class ParallelSizes:
    """Sizes of the kinds of parallelism; None for those that are not known.

    Attributes:
        world: Ranks of the job.
        data: Ranks that hold the same parameters and read other samples.
        tensor: Ranks that share each layer.
        pipeline: Stages.
        context: Ranks that share each sequence.
        expert: Ranks that share the experts.
    """

    world: int | None = None
    data: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    context: int | None = None
    expert: int | None = None

    @property
    def replicas(self) -> int | None:
        """Ranks that hold the same parameters, over which their states can be spread; None if not known.

        Those that share a sequence hold the same ones, too.
        """
        return None if self.data is None else self.data * (self.context or 1)


@signal()
def layout(s: Signals) -> ParallelSizes:
    """As the framework recorded it, else by names of process groups; a job with one group of all ranks has replicas."""
    world = s(world_size)
    attributes = s.trace.recordings[s.rank].attributes
    told = {kind: size for kind, name in _RECORDED.items() if (size := _size(attributes, name)) is not None}
    divided = int(np.prod([size for kind, size in told.items() if kind != "expert"]))
    # What a program noted may be of another run.
    if world and world % divided:
        told = {}
    if "data" in told or {"tensor", "pipeline"} <= told.keys():
        rest = int(np.prod([size for kind, size in told.items() if kind in ("tensor", "pipeline", "context")]))
        if "data" not in told and world and world % rest == 0:
            told["data"] = world // rest
        return ParallelSizes(world, **told)
    return ParallelSizes(world, **_by_groups(s, world))


def _size(attributes: Mapping[str, Any], name: str) -> int | None:
    """A size as the framework recorded it, else as the program noted it."""
    size = attributes.get(f"distributed.{name}", attributes.get(f"parallel.{name}"))
    return size if type(size) is int and size > 0 else None


def _by_groups(s: Signals, world: int | None) -> dict[str, int]:
    found: dict[str, int] = {}
    unknown, stated_groups = False, s.trace.whole.once(given_groups)
    for row in s.trace.rows(_GROUPS_SQL):
        stated = given_for(stated_groups, row["group"], row["ranks"])
        kind = stated.parallelism if stated else parallelism_named(f"{row['description']} {row['group']}")
        size = row["size"]
        if kind in _RECORDED and size:
            found[kind] = max(found.get(kind, 1), size)
        elif (size or 0) > 1 and size != world:
            unknown = True
    for one in stated_groups:
        if one.parallelism in _RECORDED and s.rank in one.ranks:
            found[one.parallelism] = max(found.get(one.parallelism, 1), len(one.ranks))
    if found.get("data"):
        # Megatron's groups of data parallelism include those that share a sequence.
        return {kind: size for kind, size in found.items() if kind != "context"}
    kinds = {row["collective"] for row in s.trace.rows(_CALLED_SQL)}
    if not found and not unknown and world and kinds and kinds.isdisjoint(_P2P):
        return {"data": world, "tensor": 1, "pipeline": 1}
    return found
