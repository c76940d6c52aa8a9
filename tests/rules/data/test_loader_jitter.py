from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.data import data
from stepscope.signals.shared import job


def given(
    batches: int = 12, *, idle: int = 200_000, alone: bool | None = False, late: bool = True
) -> dict[object, object]:
    dur = np.full(batches, 1000)
    dur[[1, 5, 8]] = (90_000, 80_000, 100_000)
    waits = data.LoaderWaits(np.arange(batches), np.arange(batches) * 10**6, dur, ("X",) * batches)
    return {
        data.regular: waits,
        data.in_process: alone,
        data.late_idle_ns: idle,
        job.step_ns: 1_000_000,
        job.steps: batches,
        job.span_ns: batches * 1_200_000,
        data.irregular: (dur > 1000) & late,
    }


def test_batches_that_come_late_now_and_then_are_found() -> None:
    (draft,) = drafts("DAT005", given())
    assert figures(draft.summary) == ["1.00 µs", "100 µs", "12", "3"]
    assert draft.events.tolist() == [8, 1, 5]
    assert draft.cost_ns == 200_000


def once(idle: int) -> dict[object, object]:
    return {**given(idle=idle), data.irregular: np.arange(12) == 8}


def test_a_single_late_batch_has_no_price_and_is_told_as_a_share_of_the_recording() -> None:
    (draft,) = drafts("DAT005", once(240_000))
    assert {"1", "12"} <= set(figures(draft.summary))
    assert (draft.cost_ns, draft.recorded_share, draft.placed_as_ns) == (None, 0.2, 120_000)


def test_wording_of_a_single_late_batch() -> None:
    assert "a longer recording would tell" in drafts("DAT005", once(240_000))[0].summary


def test_a_single_late_batch_that_costs_little_of_the_recording_just_misses() -> None:
    assert drafts("DAT005", once(35_999)) == []
    assert len(drafts("DAT005", once(36_000))) == 1


def test_too_few_batches_or_too_short_waits_just_miss() -> None:
    assert drafts("DAT005", given(9)) == []
    assert drafts("DAT005", given(idle=9_999)) == []
    assert len(drafts("DAT005", given(10, idle=10_000))) == 1


def test_regular_waits_have_another_cause() -> None:
    assert drafts("DAT005", given(late=False)) == []


def test_without_workers_there_is_no_queue_to_run_empty() -> None:
    assert drafts("DAT005", given(alone=True)) == []


def test_without_a_loader_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT005", {})
