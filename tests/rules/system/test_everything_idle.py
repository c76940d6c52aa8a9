from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.signals.shared import job
from stepscope.signals.system import system


def given(share: float, steps: int = 5) -> dict[object, object]:
    return {
        system.blocked: Intervals.union_of([0], [400]),
        system.blocked_share: share,
        system.blocking_calls: ("futex",),
        job.steps: steps,
        job.recorded_steps: 5,
    }


def test_a_host_that_waits_too_is_found() -> None:
    (draft,) = drafts("SYS003", given(0.4))
    assert figures(draft.summary) == ["40.0 %", "80 ns"]
    assert "futex" in draft.summary
    assert draft.rows == ({"table": "os_runtime", "where": {"name": "futex"}},)


def test_just_below_the_threshold_or_outside_steps_nothing_is_found() -> None:
    assert drafts("SYS003", given(0.0199)) == []
    assert drafts("SYS003", given(0.4, steps=0)) == []
    assert len(drafts("SYS003", given(0.02))) == 1


def test_without_recorded_calls_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYS003", {job.steps: 5})
