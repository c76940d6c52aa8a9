from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.signals.shared import job
from stepscope.signals.system import system


def given(share: float, known: bool = True) -> dict[object, object]:
    return {
        system.readiness_known: known,
        system.preempted: Intervals.union_of([0, 500], [100, 900]),
        system.preempted_share: share,
        job.recorded_steps: 5,
    }


def test_time_without_a_processor_is_found() -> None:
    (draft,) = drafts("SYS001", given(0.1))
    assert figures(draft.summary) == ["10.0 %", "100 ns", "2"]
    assert draft.ranges == ((500, 900), (0, 100))
    assert draft.change is not None


def test_without_states_of_threads_it_is_a_hypothesis_with_the_command_that_proves_it_by_its_wording() -> None:
    (draft,) = drafts("SYS001", given(0.1, known=False))
    assert (draft.change, draft.cost_ns, draft.taken_ns) == (None, None, 100)
    assert "ready to run but" not in draft.summary
    assert "is not recorded" in draft.summary
    assert "pidstat -w" in draft.actions[0].after


def test_just_below_the_threshold_nothing_is_found() -> None:
    assert drafts("SYS001", given(0.0099)) == []
    assert len(drafts("SYS001", given(0.01))) == 1


def test_without_recorded_switches_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYS001", {})
