from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.signals.shared import job
from stepscope.signals.system import system


def given(share: float, steps: int = 5) -> dict[object, object]:
    return {
        system.reading: Intervals.union_of([0, 500], [100, 900]),
        system.reading_share: share,
        system.reading_calls: ("pread64", "openat"),
        job.steps: steps,
        job.recorded_steps: 5,
    }


def test_waiting_for_files_is_found_with_the_calls() -> None:
    (draft,) = drafts("SYS002", given(0.1))
    assert figures(draft.summary) == ["10.0 %", "100 ns"]
    assert draft.change is not None
    assert draft.change.time[0].starts.tolist() == [0, 500]


def test_just_below_the_threshold_or_outside_steps_nothing_is_found() -> None:
    assert drafts("SYS002", given(0.0099)) == []
    assert drafts("SYS002", given(0.1, steps=0)) == []
    assert len(drafts("SYS002", given(0.01))) == 1


def test_without_recorded_calls_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYS002", {job.steps: 5})
