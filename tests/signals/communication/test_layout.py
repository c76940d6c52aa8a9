"""Sizes of the kinds of parallelism, from what frameworks record."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from stepscope.analyses.communication.given_groups import GivenGroup, given_groups
from stepscope.signals import Signals
from stepscope.signals.communication.layout import ParallelSizes, layout
from stepscope.signals.communication.parallelism import parallelism_named
from support import Facts

ALL = [0, 1, 2, 3]


def told(
    attributes: Mapping[str, int] | None = None,
    groups: Mapping[str, list[int]] | None = None,
    called: tuple[str, ...] = ("all_reduce",),
    world: int | None = 4,
    given: tuple[GivenGroup, ...] = (),
) -> ParallelSizes:
    facts = Facts()
    facts.step(1, 0, 1_000)
    for name, ranks in (groups or {}).items():
        facts.row("groups", group=name, description=name, backend="nccl", size=len(ranks), ranks=ranks)
    for n, kind in enumerate(called):
        event = facts.kernel("ncclKernel", 100 * n, 50, kind="comm")
        facts.row("collectives", event=event, group=next(iter(groups or {"default": 0})), collective=kind)
    trace = facts.trace(world_size=world, attributes=dict(attributes or {}))
    trace.state(given_groups, given)
    return Signals.of(trace)(layout)


def test_recorded_sizes() -> None:
    sizes = {"distributed.data_parallel_size": 2, "distributed.tensor_model_parallel_size": 8,
             "distributed.pipeline_model_parallel_size": 4, "distributed.context_parallel_size": 2}  # fmt: skip
    found = told(sizes, world=128)
    assert (found.data, found.tensor, found.pipeline, found.replicas) == (2, 8, 4, 4)
    del sizes["distributed.data_parallel_size"]
    assert told(sizes, world=128).replicas == 4


def test_sizes_that_a_program_noted_stand_in_for_recorded_ones() -> None:
    noted = {"parallel.tensor_model_parallel_size": 8, "parallel.pipeline_model_parallel_size": 2}
    assert told(noted, world=64).replicas == 4
    found = told({**noted, "distributed.tensor_model_parallel_size": 4}, world=64)
    assert (found.tensor, found.data) == (4, 8)
    # Those of another run don't divide the ranks of this one.
    assert told(noted, groups={"0": ALL}) == ParallelSizes(4, 4, 1, 1)


def test_names_of_groups() -> None:
    found = told(groups={"default_pg": ALL, "dp_cp": [0, 2], "tp": [0, 1]})
    assert (found.data, found.tensor, found.replicas) == (2, 2, 2)


def test_stated_groups_count_more_than_names() -> None:
    found = told(
        groups={"default_pg": ALL, "dp": [0, 2]},
        given=(GivenGroup("context", (), "dp"), GivenGroup("tensor", (0, 1), "")),
    )
    assert (found.context, found.tensor, found.data) == (2, 2, None)


def test_one_group_of_all_ranks_holds_replicas() -> None:
    assert told(groups={"0": ALL}).replicas == 4
    assert told(groups={"0": ALL}, called=("all_reduce", "send")).replicas is None
    assert told(groups={"0": ALL, "7": [0, 1]}).replicas is None
    assert told(groups={"0": ALL}, called=()).replicas is None


@pytest.mark.parametrize(
    ("words", "kind"),
    [("dp_cp", "data"), ("TENSOR_MODEL_PARALLEL_GROUP", "tensor"), ("default_pg 0", "world"), ("23", None)],
)
def test_what_a_group_is_for(words: str, kind: str | None) -> None:
    assert parallelism_named(words) == kind
