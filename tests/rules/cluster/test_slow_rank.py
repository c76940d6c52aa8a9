from __future__ import annotations

import pytest

from cluster_support import rank
from rule_support import figures, job_drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication.cluster import gain_ns
from stepscope.signals.shared import job


def test_a_slower_device_that_the_others_wait_for_is_found() -> None:
    (draft,) = job_drafts("CLU001", {0: rank(), 1: rank(), 2: rank(0, device=1.3)})
    assert figures(draft.summary) == ["1.30", "2", "40.0 %", "400 µs"]
    assert draft.ranks == (2, 0, 1)
    assert draft.late == (2,)
    assert draft.cost_ns == 400_000


@pytest.mark.parametrize(("gain", "anyway"), [(99_999, True), (100_000, False)])
def test_what_the_others_would_wait_anyway_is_not_all_for_it_by_its_wording(gain: int, anyway: bool) -> None:
    (draft,) = job_drafts("CLU001", {0: {**rank(), gain_ns: gain}, 1: rank(0, device=1.3)})
    assert draft.cost_ns == gain
    assert ("anyway" in draft.summary, "for rank 1" in draft.summary) == (anyway, not anyway)


def test_where_to_look_depends_on_the_platform() -> None:
    (draft,) = job_drafts("CLU001", {0: rank(), 1: {**rank(0, device=1.3), job.platform: "npu"}})
    assert "npu-smi" in draft.actions[0].after


def test_hardly_slower_or_with_more_to_compute_it_is_not() -> None:
    assert job_drafts("CLU001", {0: rank(), 1: rank(0, device=1.049)}) == []
    assert len(job_drafts("CLU001", {0: rank(), 1: rank(0, device=1.051)})) == 1
    assert job_drafts("CLU001", {0: rank(), 1: rank(0, device=1.3, work=1.05)}) == []


def test_a_slower_device_that_nobody_waits_for_costs_nothing() -> None:
    assert job_drafts("CLU001", {0: rank(9_000), 1: rank(0, device=1.3)}) == []


def test_one_recording_is_not_enough() -> None:
    with pytest.raises(MissingInputError):
        job_drafts("CLU001", {0: rank()})
