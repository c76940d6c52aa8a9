"""Which sends and receives are a pipeline's, and how long they wait."""

from __future__ import annotations

import pytest

from stepscope.analyses.communication.given_groups import GivenGroup, given_groups
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.communication import pipeline
from support import Facts


def job(
    *calls: tuple[str, int, int | None],
    group: str = "g",
    world: int | None = 2,
    description: str = "",
    ranks: list[int] | None = None,
    peers: tuple[int, ...] = (),
) -> Signals:
    """A training step of 1 ms with collectives one after the other: kind, duration and bytes."""
    facts = Facts()
    facts.step(0, 0, 1_000_000)
    facts.host("annotation", "Optimizer.step#Adam.step", 900_000, 1_000)
    facts.kernel("gemm_kernel", 0, 50_000)
    facts.kernel("multi_tensor_apply_kernel", 950_000, 1_000)
    for number, (kind, ns, size) in enumerate(calls):
        event = facts.kernel(
            "ncclDevKernel_SendRecv", 100_000 + number * (100_000 if peers else 200_000), ns, kind="comm", stream="20"
        )
        facts.row("collectives", event=event, group=group, collective=kind, bytes=size, world_size=world, ranks=ranks,
                  peer=peers[number] if peers else None)  # fmt: skip
    if description:
        facts.row("groups", group=group, description=description, size=world, ranks=[0, 1, 8] if peers else [0, 4])
    return Signals.of(facts.trace())


def test_a_pair_that_only_sends_and_receives_is_two_stages() -> None:
    """Moving takes what the quickest call took for the size."""
    found = job(("recv", 150_000, 1000), ("recv", 10_000, 1000), ("send", 5_000, 1000))(pipeline.stage)
    assert found.bubble_ns == 140_000
    assert (found.position, found.arrivals, found.told) == (None, None, False)


def test_a_group_called_so_is_a_pipeline_of_any_size() -> None:
    found = job(("send_recv", 150_000, 1000), ("send_recv", 10_000, 1000), world=8, description="pp")(pipeline.stage)
    assert (found.ranks, found.position, found.bubble_ns) == ((0, 4), 0, 140_000)


@pytest.mark.parametrize(
    ("peers", "parts"),
    [
        ((1, 1, 1, 1, 8, 8), 2),
        ((1, 1, 1, 8, 8), 3),
        ((1, 1, 1, 1, 1, 8), 1),  # the loss, once
        ((1, 1, 1, 8), 1),
        ((1, 1, 8, 8), 1),
        ((1, 1, 1, 1), 1),
    ],
)
def test_parts_are_interleaved_where_the_last_stage_sends_all_but_one_part(peers: tuple[int, ...], parts: int) -> None:
    calls = (("recv", 10_000, 1000),) * len(peers)
    found = job(*calls, description="pp", peers=peers)(pipeline.stage)
    assert (found.stages, found.parts) == (3, parts)


@pytest.mark.parametrize(("description", "ranks"), [("", (0, 2)), ("pp", (0, 4))])
def test_ranks_are_those_of_the_group_or_else_of_its_calls(description: str, ranks: tuple[int, ...]) -> None:
    calls = (("recv", 150_000, 1000), ("recv", 10_000, 1000))
    found = job(*calls, description=description, ranks=[0, 2])(pipeline.stage)
    assert (found.ranks, found.position) == (ranks, 0)


@pytest.mark.parametrize(
    ("calls", "world", "description"),
    [
        ((("send_recv", 150_000, 1000), ("send_recv", 10_000, 1000)), 8, ""),  # all to all by sends
        ((("send_recv", 150_000, 1000), ("all_reduce", 10_000, 1000)), 2, ""),  # a group for other things
        ((("send_recv", 150_000, 1000), ("send_recv", 10_000, 1000)), 2, "cp"),  # ring attention
        ((("all_reduce", 150_000, 1000),), 2, "pp"),  # nothing is handed on
    ],
)
def test_what_is_no_pipeline(calls: tuple[tuple[str, int, int | None], ...], world: int, description: str) -> None:
    with pytest.raises(MissingInputError, match="pipeline"):
        job(*calls, world=world, description=description)(pipeline.stage)


EXCHANGES = (("send_recv", 150_000, 1000), ("send_recv", 10_000, 1000))


@pytest.mark.parametrize(
    ("stated", "description", "ranks"),
    [
        (GivenGroup("pipeline", (0, 7), ""), "", (0, 7)),  # neither name nor ranks are recorded
        (GivenGroup("pipeline", (), "g"), "cp", (0, 4)),  # the name says something else
        (GivenGroup("pipeline", (0, 4), ""), "", (0, 4)),
    ],
)
def test_a_pipeline_is_what_users_state_to_be_one(stated: GivenGroup, description: str, ranks: tuple[int, ...]) -> None:
    signals = job(*EXCHANGES, world=8, description=description)
    signals.trace.state(given_groups, (stated,))
    found = signals(pipeline.stage)
    assert (found.ranks, found.position, found.bubble_ns) == (ranks, 0, 140_000)


def test_what_users_state_to_be_something_else_is_no_pipeline() -> None:
    signals = job(*EXCHANGES, description="pp")
    signals.trace.state(given_groups, (GivenGroup("context", (), "g"),))
    with pytest.raises(MissingInputError, match="pipeline"):
        signals(pipeline.stage)


def test_a_stated_pipeline_of_other_ranks_says_nothing_of_this_one() -> None:
    signals = job(*EXCHANGES, world=8)
    signals.trace.state(given_groups, (GivenGroup("pipeline", (1, 5), ""),))
    assert signals(pipeline.given_pipe) == ()
    assert signals.maybe(pipeline.stage) is None
