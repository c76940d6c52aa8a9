from __future__ import annotations

import pytest

from recording_support import advised
from rule_support import figures, job_drafts
from stepscope.signals.host import profiler_cost
from stepscope.signals.recording import recording
from stepscope.signals.shared import job


def test_it_is_advised_without_a_price() -> None:
    (draft,) = advised("REC002", {"overhead": 1.2})
    assert {"20.0 %"} <= set(figures(draft.summary))
    assert (draft.change, draft.cost_ns) == (None, None)


def test_the_advice_is_for_the_profiler_at_hand() -> None:
    (draft,) = advised("REC002", {"overhead": 1.2}, profiler="nsight")
    assert "--sample=none" in draft.actions[0].after


def test_three_weightier_gaps_go_before_it() -> None:
    assert len(advised("REC002", {"overhead": 1.2, **dict.fromkeys(("lost", "device"), 3.0)})) == 1
    assert advised("REC002", {"overhead": 1.2, **dict.fromkeys(("lost", "device", "host"), 3.0)}) == []


def test_a_recording_that_has_it_leaves_the_rule_unasked_for_advice() -> None:
    assert advised("REC002", {}) == []


@pytest.mark.parametrize(
    ("cause", "says", "does"),
    [
        ("observer", "writes down every operator", "execution-trace observer"),
        ("stacks", "5.0 times as long as equal ones", "without stacks"),
        ("lines", "grow 5-fold", "without stacks"),
    ],
)
def test_wording_names_what_slows_the_host(cause: str, says: str, does: str) -> None:
    given = {recording.gaps: {"overhead": 1.4}, profiler_cost.added_work: profiler_cost.ProfilerCost(cause, 5.0, 1_000)}
    (draft,) = job_drafts("REC002", {0: {**given, recording.profiler: "kineto", job.platform: "cuda"}})
    assert says in draft.summary
    assert {"40.0 %"} <= set(figures(draft.summary))
    assert does in draft.actions[0].text
