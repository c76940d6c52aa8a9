from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.communication import awaited, cluster
from support import Facts


def all_reduce(waits: dict[int, int | None], *, world: int = 8, ranks: list[int] | None = None) -> Signals:
    """One collective of 10 µs that moves data for 1 µs, and single waits in it by rank of the group."""
    facts = Facts()
    facts.step(0, 0, 100_000)
    whole = facts.kernel("hcom_allReduce", 1_000, 10_000, kind="comm")
    facts.row("collectives", event=whole, group="g", collective="all_reduce", world_size=world, ranks=ranks)
    move = facts.host("other", "Memcpy", 10_000, 1_000)
    facts.row("comm_tasks", event=move, collective=whole, kind="copy", src=0, dst=1, link="HCCS", bytes=1)
    for peer, ns in waits.items():
        event = facts.host("other", "Notify_Wait", 1_000, ns)
        facts.row("comm_tasks", event=event, collective=whole, kind="wait", src=0, dst=peer, bytes=0)
    return Signals.of(facts.trace())


def test_the_longest_of_waits_for_all_tells_who_is_late() -> None:
    assert all_reduce({1: 100, 2: 200, 5: 8_800})(awaited.peers) == {5: 9_000}
    assert all_reduce({1: 100, 2: 200, 5: 4_500})(awaited.peers) == {5: 9_000}
    assert all_reduce({1: 100, 2: 200, 5: 4_499})(awaited.peers) == {}  # less than half of the waiting


def test_numbers_within_a_group_become_ranks_of_the_job() -> None:
    assert all_reduce({1: 9_000}, world=2, ranks=[3, 11])(awaited.peers) == {11: 9_000}


def test_in_a_ring_a_neighbour_may_itself_have_waited() -> None:
    assert all_reduce({1: 9_000, 7: 100})(awaited.peers) == {}


def test_where_most_peers_are_waited_for_nobody_is_named() -> None:
    assert all_reduce({1: 9_000, 2: 9_000, 3: 8_900, 4: 100})(awaited.peers) == {}


def test_without_recorded_waits_it_is_not_known() -> None:
    with pytest.raises(MissingInputError, match="parts of its collectives"):
        all_reduce({})(awaited.peers)


def test_a_wait_without_a_length_tells_nothing() -> None:
    assert all_reduce({1: 9_000, 2: None}, world=3)(awaited.peers) == {}
    with pytest.raises(MissingInputError, match="parts of its collectives"):
        all_reduce({5: None})(awaited.peers)


def test_what_both_ranks_at_hand_wait_is_for_another_one() -> None:
    signals = all_reduce({1: 100, 2: 200, 5: 8_800})
    assert signals(cluster.unseen_ns) == 9_000
    assert signals(cluster.ranks_missing)
