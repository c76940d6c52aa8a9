from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.recording import recording
from stepscope.signals.shared import idleness, job, links

MS = 1_000_000


def given(share: float, *, calls: bool = False, work: bool = True, linked: bool = True) -> dict[object, object]:
    return {
        links.linked: linked,
        recording.calls_known: calls,
        recording.work_known: work,
        recording.profiler: "kineto",
        idleness.causes: {"unknown": share},
        job.step_ns: 100 * MS,
        job.steps: 3,
    }


def test_much_idle_time_without_launches_comes_before_small_savings() -> None:
    (draft,) = drafts("HST017", given(0.76))
    assert {"76.0 ms", "76.0 %"} <= set(figures(draft.summary))
    assert draft.taken_ns == 76 * MS
    assert (draft.placed_as_ns, draft.waiting) == (76 * MS, True)


def test_less_just_misses() -> None:
    assert len(drafts("HST017", given(0.3))) == 1
    assert drafts("HST017", given(0.2999)) == []


def test_with_launches_or_with_sums_alone_others_say_why() -> None:
    assert drafts("HST017", given(0.76, calls=True)) == []
    assert drafts("HST017", given(0.76, work=False)) == []


def test_launches_that_are_tied_to_no_work_explain_nothing_either() -> None:
    (draft,) = drafts("HST017", given(0.76, calls=True, linked=False))
    assert draft.taken_ns == 76 * MS
    assert all("ProfilerActivity" not in action.after for action in draft.actions)
    assert drafts("HST017", given(0.2999, calls=True, linked=False)) == []


def test_without_steps_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST017", {recording.calls_known: False, recording.work_known: True})
