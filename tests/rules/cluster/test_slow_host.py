from __future__ import annotations

import pytest

from cluster_support import rank
from rule_support import figures, job_drafts
from stepscope.model.errors import MissingInputError
from stepscope.rules.registry import all_rules


def test_a_slower_host_that_the_others_wait_for_is_found() -> None:
    slow = rank(0, operator=3_000, dispatch=0.3, name="node7")
    (draft,) = job_drafts("CLU003", {0: rank(name="node1"), 1: rank(name="node2"), 2: slow})
    assert figures(draft.summary) == ["1.00", "2", "3.00", "40.0 %", "400 µs"]
    assert draft.late == (2,)


def test_a_host_hardly_slower_just_misses() -> None:
    assert job_drafts("CLU003", {0: rank(), 1: rank(0, operator=1_190, dispatch=0.3)}) == []
    assert len(job_drafts("CLU003", {0: rank(), 1: rank(0, operator=1_200, dispatch=0.3)})) == 1


def test_a_device_that_does_not_wait_for_it_or_is_slow_itself_rules_it_out() -> None:
    assert job_drafts("CLU003", {0: rank(), 1: rank(0, operator=3_000, dispatch=0.0099)}) == []
    slow = {0: rank(), 1: rank(0, operator=3_000, dispatch=0.3, device=1.1)}
    assert (job_drafts("CLU003", slow), job_drafts("CLU009", slow)) == ([], [])


def test_what_the_host_does_there_is_its_symptom() -> None:
    rules = all_rules()
    assert all("CLU003" in rules[code].rule.symptom_of for code in ("HST001", "HST002", "HST003", "HST004"))


def test_one_recording_is_not_enough() -> None:
    with pytest.raises(MissingInputError):
        job_drafts("CLU003", {0: rank()})
