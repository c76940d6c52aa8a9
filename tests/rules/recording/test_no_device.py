from __future__ import annotations

from recording_support import advised


def test_it_is_advised_without_a_price() -> None:
    (draft,) = advised("REC003", {"device": 1.5})
    assert (draft.change, draft.cost_ns) == (None, None)


def test_wording() -> None:
    (draft,) = advised("REC003", {"device": 1.5})
    assert "no time can be explained" in draft.summary


def test_the_advice_is_for_the_profiler_at_hand() -> None:
    (draft,) = advised("REC003", {"device": 1.5}, profiler="nsight")
    assert "--trace=cuda" in draft.actions[0].after


def test_three_weightier_gaps_go_before_it() -> None:
    assert len(advised("REC003", {"device": 1.5, **dict.fromkeys(("lost", "host"), 3.0)})) == 1
    assert advised("REC003", {"device": 1.5, **dict.fromkeys(("lost", "host", "history"), 3.0)}) == []


def test_a_recording_that_has_it_leaves_the_rule_unasked_for_advice() -> None:
    assert advised("REC003", {}) == []
