from __future__ import annotations

import re
from typing import Any

import pytest

from cluster_support import rank
from rule_support import figures, job_drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import awaited, cluster


def one_of_more(wait: int = 400_000, **others: Any) -> dict[Any, Any]:
    return {**rank(wait, **others), cluster.ranks_missing: True}


def test_what_even_the_last_of_the_recorded_ranks_waits_is_for_another_one() -> None:
    (draft,) = job_drafts("CLU005", {0: one_of_more(400_000, gain=390_000), 1: one_of_more(300_000, gain=250_000)})
    assert figures(draft.summary) == ["30.0 %", "300 µs"]
    assert draft.cost_ns == 250_000
    assert draft.ranks == (1, 0)  # the price is that of rank 1


def test_least_time_and_least_share_may_be_of_different_ranks() -> None:
    short = {**one_of_more(300_000), cluster.unseen_ns: 250_000}
    (draft,) = job_drafts("CLU005", {0: short, 1: {**one_of_more(290_000), cluster.unseen_ns: 290_000}})
    assert figures(draft.summary) == ["250 µs", "29.0 %"]


def test_one_rank_alone_can_tell_where_the_library_recorded_its_transfers() -> None:
    (draft,) = job_drafts("CLU005", {3: one_of_more()})
    assert {"400 µs"} <= set(figures(draft.summary))


def test_the_late_rank_is_among_the_recorded_ones() -> None:
    assert job_drafts("CLU005", {0: one_of_more(), 1: one_of_more(29_999)}) == []
    assert len(job_drafts("CLU005", {0: one_of_more(), 1: one_of_more(30_000)})) == 1


def test_no_rank_is_missing() -> None:
    everyone = {**rank(), cluster.ranks_missing: False}
    assert job_drafts("CLU005", {0: everyone, 1: everyone}) == []


def test_without_collectives_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        job_drafts("CLU005", {0: {}, 1: {}})


def test_the_rank_is_named_that_the_waits_are_for() -> None:
    waits = {awaited.peers: {1: 10_000, 5: 360_000}}
    (draft,) = job_drafts("CLU005", {0: {**one_of_more(), **waits}, 1: {**one_of_more(), **waits}})
    assert re.findall(r"\d+", draft.title) == ["5"]
    assert figures(draft.summary) == ["40.0 %", "400 µs", "5"]


@pytest.mark.parametrize(("second", "named"), [(320_000, ["5", "6"]), (319_999, ["5"])])
def test_who_is_awaited_for_four_fifths_of_the_longest_wait_is_named_too(second: int, named: list[str]) -> None:
    one = {**one_of_more(), awaited.peers: {5: 400_000, 6: second}}
    (draft,) = job_drafts("CLU005", {0: one, 1: one})
    assert re.findall(r"\d+", draft.title) == named


def test_half_of_the_waiting_is_enough() -> None:
    one = {**one_of_more(), awaited.peers: {5: 200_000}}
    (draft,) = job_drafts("CLU005", {0: one, 1: one})
    assert re.findall(r"\d+", draft.title) == ["5"]


@pytest.mark.parametrize(
    "waits",
    [
        {5: 199_999},  # less than half of the waiting
        {1: 400_000},  # a rank at hand
        {4: 400_000, 5: 390_000, 6: 350_000},  # too many of them
    ],
)
def test_nobody_is_named_where_waits_do_not_tell(waits: dict[int, int]) -> None:
    one = {**one_of_more(), awaited.peers: waits}
    (draft,) = job_drafts("CLU005", {0: one, 1: one})
    assert re.findall(r"\d+", draft.title) == []
