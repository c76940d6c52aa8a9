from __future__ import annotations

from typing import Any

import pytest

from rule_support import figures, job_drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication.link_rates import LikeCollectives, Pair, groups, pairs
from stepscope.signals.shared import job


def ring(slow_ns: int, *, exposed: float = 0.5) -> dict[int, dict[Any, Any]]:
    """Four ranks that send 1 MB to the next one in 100 µs each; rank 2 takes longer."""
    return {
        rank: {
            pairs: (Pair(rank, (rank + 1) % 4, "HCCS", 1_000_000, slow_ns if rank == 2 else 100_000, exposed),),
            groups: (),
            job.platform: "npu",
        }
        for rank in range(4)
    }


def grouped(slow_ns: int, number: int = 3) -> dict[int, dict[Any, Any]]:
    """Pairs of ranks that reduce 10 MB in 1 ms, the last pair slower."""
    found: dict[int, dict[Any, Any]] = {}
    for rank in range(2 * number):
        first = rank - rank % 2
        ns = slow_ns if first == 2 * number - 2 else 1_000_000
        members = f"[{first}, {first + 1}]"
        group = LikeCollectives(members, "all_reduce", 10_000_000, 2, 3.0, ns, 0.5)
        found[rank] = {pairs: (), groups: (group,), job.platform: "cuda"}
    return found


def test_a_slow_pair_is_found_with_what_it_costs() -> None:
    (draft,) = job_drafts("CLU002", ring(200_000))
    assert figures(draft.summary) == ["2", "3", "5.00 GB/s", "50 %"]
    assert draft.cost_ns == 50_000
    assert draft.ranks == (2, 3)
    assert "hccn_tool" in draft.actions[0].after


def test_a_slow_group_is_found_by_its_collectives() -> None:
    (draft,) = job_drafts("CLU002", grouped(2_000_000))
    assert {"4", "5", "5.00 GB/s", "50 %"} <= set(figures(draft.summary))
    assert draft.cost_ns == 1_500_000
    assert draft.ranks == (4, 5)


def test_what_a_link_costs_is_the_sum_over_the_sizes_that_go_over_it() -> None:
    found = grouped(2_000_000)
    for rank, signals in found.items():
        [one] = signals[groups]
        smaller = LikeCollectives(one.ranks, "all_reduce", 5_000_000, 2, 1.0, one.ns // 2, 0.5)
        found[rank] = {**signals, groups: (one, smaller)}
    (draft,) = job_drafts("CLU002", found)
    assert draft.cost_ns == 1_500_000 + 250_000
    assert draft.ranks == (4, 5)


def test_the_fastest_recording_of_a_group_counts() -> None:
    late = grouped(2_000_000)
    late[5] = {**late[5], groups: (LikeCollectives("[4, 5]", "all_reduce", 10_000_000, 2, 3.0, 1_000_000, 0.5),)}
    assert job_drafts("CLU002", late) == []


def test_of_many_ranks_of_a_group_the_first_are_named() -> None:
    found: dict[int, dict[Any, Any]] = {}
    for first in range(0, 48, 12):
        ns = 2_000_000 if first == 12 else 1_000_000
        group = LikeCollectives(str(list(range(first, first + 12))), "all_reduce", 10_000_000, 12, 3.0, ns, 0.5)
        found[first] = {pairs: (), groups: (group,), job.platform: "cuda"}
    (draft,) = job_drafts("CLU002", found)
    assert {"12", "19"} <= set(figures(draft.summary))
    assert "20" not in figures(draft.summary)
    assert draft.cost_ns == 1_500_000


def test_a_little_slower_just_misses() -> None:
    assert job_drafts("CLU002", ring(124_000)) == []
    assert len(job_drafts("CLU002", ring(126_000))) == 1
    assert job_drafts("CLU002", grouped(1_240_000)) == []


def test_of_two_one_cannot_tell() -> None:
    assert job_drafts("CLU002", grouped(2_000_000, 2)) == []


def test_without_transfers_and_groups_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        job_drafts("CLU002", {0: {pairs: (), groups: ()}, 1: {}})
