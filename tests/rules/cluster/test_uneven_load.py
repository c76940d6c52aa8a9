from __future__ import annotations

import numpy as np
import pytest

from cluster_support import rank
from rule_support import figures, job_drafts
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.fitting import fitting
from stepscope.signals.communication import cluster
from stepscope.signals.shared.program import program


def test_a_rank_with_more_work_is_found_and_priced_by_the_mean() -> None:
    (draft,) = job_drafts("CLU004", {0: rank(300_000), 1: rank(300_000), 2: rank(0, work=1.6)})
    assert figures(draft.summary) == ["1.60", "2", "30.0 %", "300 µs"]
    assert draft.late == (2,)
    assert draft.cost_ns == 200_000
    assert draft.ranks == (2, 0, 1)


@pytest.mark.parametrize(("parallel", "first"), [("expert", "experts"), ("ddp", "by cost")])
def test_where_ranks_have_experts_these_are_balanced_first(parallel: str, first: str) -> None:
    told = Program("training", "pytorch", parallel=frozenset({parallel}))
    ranks = {number: {**one, program: told} for number, one in enumerate((rank(300_000), rank(0, work=1.6)))}
    (draft,) = job_drafts("CLU004", ranks)
    assert first in fitting(draft.actions, told)[0].text


def test_work_that_varies_in_turn_is_found_too() -> None:
    first = {**rank(200_000), cluster.work: cluster.StepLoad(np.array([2.0, 1.0, 2.0, 1.0]), np.zeros(4))}
    second = {**rank(200_000), cluster.work: cluster.StepLoad(np.array([1.0, 2.0, 1.0, 2.0]), np.zeros(4))}
    (draft,) = job_drafts("CLU004", {0: first, 1: second})
    assert {"20.0 %"} <= set(figures(draft.summary))
    assert draft.numbers["work_ratio"] == pytest.approx(4 / 3)


def test_blocks_count_where_shapes_are_not_recorded() -> None:
    amounts = (np.full(3, 100.0), np.full(3, 200.0))
    ranks = {
        n: {**rank(100_000), cluster.work: cluster.StepLoad(np.zeros(3), blocks)} for n, blocks in enumerate(amounts)
    }
    assert len(job_drafts("CLU004", ranks)) == 1


def test_a_rank_that_waits_for_its_batches_is_told_apart() -> None:
    (draft,) = job_drafts("CLU004", {0: rank(), 1: rank(0, fetched=390_000)})
    assert draft.title != job_drafts("CLU004", {0: rank(), 1: rank(0, work=1.6)})[0].title
    assert draft.cost_ns == 400_000


def test_nearly_even_work_or_short_waits_just_miss() -> None:
    assert job_drafts("CLU004", {0: rank(), 1: rank(0, work=1.049)}) == []
    assert len(job_drafts("CLU004", {0: rank(), 1: rank(0, work=1.051)})) == 1
    assert job_drafts("CLU004", {0: rank(9_000), 1: rank(0, work=1.6)}) == []
    # Without a late rank the largest is held against the mean: 1.10 of 1.05 is less than 1.05.
    assert job_drafts("CLU004", {0: rank(20_000), 1: rank(20_000, work=1.10)}) == []
    assert len(job_drafts("CLU004", {0: rank(20_000), 1: rank(20_000, work=1.11)})) == 1
    assert job_drafts("CLU004", {0: rank(), 1: rank(0, fetched=9_000)}) == []


def test_stages_that_have_different_amounts_of_work_are_not_held_against_each_other() -> None:
    """The second stage has twice the work of the first, and waits in sends and receives."""
    pipes = {0: (0, 2), 1: (1, 3)}
    ranks = {
        number: rank(20_000, work=1 + number // 2, pipe=pipes[number % 2], place=number // 2) for number in range(4)
    }
    assert job_drafts("CLU004", ranks) == []


def test_one_recording_is_not_enough() -> None:
    with pytest.raises(MissingInputError):
        job_drafts("CLU004", {0: rank()})
