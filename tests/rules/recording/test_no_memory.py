from __future__ import annotations

from recording_support import advised
from rule_support import figures


def test_it_is_advised_without_a_price() -> None:
    (draft,) = advised("REC009", {"memory": 0.1})
    assert {"10.0 %"} <= set(figures(draft.summary))
    assert (draft.change, draft.cost_ns) == (None, None)


def test_the_advice_is_for_the_profiler_at_hand() -> None:
    (draft,) = advised("REC009", {"memory": 0.1}, profiler="nsight")
    assert "--cuda-memory-usage" in draft.actions[0].after


def test_three_weightier_gaps_go_before_it() -> None:
    assert len(advised("REC009", {"memory": 0.1, **dict.fromkeys(("lost", "device"), 3.0)})) == 1
    assert advised("REC009", {"memory": 0.1, **dict.fromkeys(("lost", "device", "host"), 3.0)}) == []


def test_a_recording_that_has_it_leaves_the_rule_unasked_for_advice() -> None:
    assert advised("REC009", {}) == []
