from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cluster_support import rank
from rule_support import figures, job_drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import cluster
from stepscope.signals.communication.link_rates import LikeCollectives, groups
from stepscope.signals.communication.rank_times import rank_times
from stepscope.signals.shared.idleness import LeastIdle, least_idle


def test_a_rank_that_is_late_without_a_known_cause_has_a_price() -> None:
    (draft,) = job_drafts("CLU009", {0: rank(), 1: rank(), 2: rank(0)})
    assert figures(draft.summary) == ["2", "40.0 %", "400 µs", "400 µs"]
    assert "idles 400 µs longer" in draft.summary
    assert (draft.late, draft.ranks, draft.cost_ns) == ((2,), (2, 0, 1), 400_000)
    assert draft.numbers["host_ns"] == 400_000


@pytest.mark.parametrize(
    "differs", [{"device": 1.3}, {"work": 1.3}, {"operator": 3_000, "dispatch": 0.3}, {"fetched": 390_000}]
)
def test_what_another_rule_explains_is_not_its_subject(differs: dict[str, Any]) -> None:
    assert job_drafts("CLU009", {0: rank(), 1: rank(0, **differs)}) == []


def test_the_wording_of_sums_leaves_open_whether_the_same_kernels_take_longer() -> None:
    ranks = {number: rank(wait, work=1.01) for number, wait in enumerate((400_000, 400_000, 0))}
    (draft,) = job_drafts("CLU009", ranks)
    assert "in other kernels or more of them" in draft.summary
    assert len(draft.actions) == 1
    (draft,) = job_drafts("CLU009", {number: {**one, cluster.kernels: {}} for number, one in ranks.items()})
    assert "sums don't tell" in draft.summary
    assert "clock, temperature" in draft.actions[0].text


@pytest.mark.parametrize(("wait", "found"), [(10_000, 1), (9_999, 0)])
def test_waiting_below_a_hundredth_of_the_step_just_misses(wait: int, found: int) -> None:
    assert len(job_drafts("CLU009", {0: rank(wait), 1: rank(0)})) == found


def test_idle_time_is_told_by_the_cause_that_differs() -> None:
    usual, more = ({"synchronisation": ns, "dependency": 80_000} for ns in (40_000, 1_640_000))
    ranks = {0: rank() | {least_idle: LeastIdle(4, 4_000_000, usual)}}
    ranks[1] = rank(0) | {least_idle: LeastIdle(4, 4_000_000, more)}
    (draft,) = job_drafts("CLU009", ranks)
    assert "synchronisation: 400 µs longer" in draft.summary


@pytest.mark.parametrize(("steps", "start", "cost"), [(1, 300_000, 100_000), (1, 395_000, None), (3, 395_000, 400_000)])
def test_what_the_start_of_the_recording_explains_is_not_in_the_price(steps: int, start: int, cost: int | None) -> None:
    """Its first step begins so much later; of three steps such a mean is no start of the recording."""
    ranks = {}
    for number, wait in enumerate((400_000, 400_000, 0)):
        known = rank(wait)
        short = start if wait == 0 else 0
        made = replace(
            known[rank_times], steps=steps, waits=known[rank_times].waits[:steps],
            step_ns=1_000_000 - short, idle_ns=known[rank_times].idle_ns - short,
        )  # fmt: skip
        ranks[number] = known | {rank_times: made}
    (draft,) = job_drafts("CLU009", ranks)
    assert draft.cost_ns == cost
    assert len(draft.actions) == (2 if steps < 3 else 1)  # of few steps: record more
    assert draft.late == (2,)


def test_a_rank_whose_slow_link_is_found_is_the_subject_of_that_finding() -> None:
    """Ranks 2 and 3 reduce among themselves, over a link that takes 1 ms longer than those of other pairs."""
    ranks = {}
    for number in range(8):
        slow = number in (2, 3)
        known = rank(0 if slow else 400_000)
        if slow:
            times = known[rank_times]
            known[rank_times] = replace(times, exposed_comm_ns=400_000, idle_ns=times.idle_ns - 400_000)
        pair = number // 2 * 2
        took = 1_400_000 if slow else 400_000
        like = LikeCollectives(f"[{pair}, {pair + 1}]", "all_reduce", 1 << 20, 2, 1.0, took, 1.0)
        ranks[number] = known | {groups: (like,)}
    (link,) = job_drafts("CLU002", ranks)
    assert set(link.late) == {2, 3}
    assert job_drafts("CLU009", ranks) == []
    alone = {
        number: {key: value for key, value in given.items() if key is not groups} for number, given in ranks.items()
    }
    (draft,) = job_drafts("CLU009", alone)
    assert draft.late == (2, 3)
    assert figures(draft.summary) == ["2", "2", "3", "40.0 %", "400 µs", "400 µs"]
    assert draft.numbers["link_ns"] == 400_000


def test_one_recording_is_not_enough() -> None:
    with pytest.raises(MissingInputError):
        job_drafts("CLU009", {0: rank()})
