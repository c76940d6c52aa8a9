from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rule_support import figures, job_drafts
from stepscope.signals.shared import serving

MS = 1_000_000


def ranks(*experts: int, dense: tuple[int, ...] = (), length: int = 20) -> Mapping[int, Mapping[Any, Any]]:
    dense = dense or (5,) * len(experts)
    return {
        rank: {serving.expert_ns: one * MS, serving.dense_ns: dense[rank] * MS, serving.pass_ns: length * MS}
        for rank, one in enumerate(experts)
    }


def test_the_rank_with_the_busiest_experts_is_priced_by_what_is_beyond_the_mean() -> None:
    (draft,) = job_drafts("CLU010", ranks(4, 4, 8, 4))
    assert (draft.ranks, draft.cost_ns) == ((2,), 3 * MS)
    assert {"2", "8.00 ms", "1.60", "25.0 %"} <= set(figures(draft.summary))


def test_nearly_even_experts_and_short_ones_just_miss() -> None:
    assert len(job_drafts("CLU010", ranks(18, 12, length=30))) == 1
    assert job_drafts("CLU010", ranks(17, 12, length=30)) == []
    assert job_drafts("CLU010", ranks(4, 4, 8, 4, length=51)) == []


def test_a_rank_that_has_more_of_everything_has_other_work() -> None:
    assert job_drafts("CLU010", ranks(4, 8, dense=(10, 15))) == []
    assert len(job_drafts("CLU010", ranks(4, 8, dense=(10, 11)))) == 1


@pytest.mark.parametrize(("prefill", "number"), [(0.04, 1), (0.06, 0)])
def test_ranks_that_were_recorded_in_other_phases_are_not_compared(prefill: float, number: int) -> None:
    mixes = [{"decode": 1.0}, {"decode": 1 - prefill, "prefill": prefill}]
    given = {rank: {**one, serving.mix: mixes[rank]} for rank, one in ranks(4, 8).items()}
    assert len(job_drafts("CLU010", given)) == number


def test_one_rank_or_ranks_without_experts_leave_it_unasked() -> None:
    assert job_drafts("CLU010", ranks(8)) == []
    assert job_drafts("CLU010", ranks(8, 0)) == []
    assert job_drafts("CLU010", {0: {}, 1: {}}) == []
