from __future__ import annotations

from recording_support import advised


def test_it_is_advised_without_a_price() -> None:
    (draft,) = advised("REC001", {"lost": 2.0})
    assert (draft.change, draft.cost_ns) == (None, None)


def test_wording() -> None:
    (draft,) = advised("REC001", {"lost": 2.0})
    assert "sums are too low" in draft.summary


def test_the_advice_is_for_the_profiler_at_hand() -> None:
    (draft,) = advised("REC001", {"lost": 2.0}, profiler="memsnapshot")
    assert "max_entries=1_000_000" in draft.actions[0].after


def test_three_weightier_gaps_go_before_it() -> None:
    assert len(advised("REC001", {"lost": 2.0, **dict.fromkeys(("device", "host"), 3.0)})) == 1
    assert advised("REC001", {"lost": 2.0, **dict.fromkeys(("device", "host", "history"), 3.0)}) == []


def test_a_recording_that_has_it_leaves_the_rule_unasked_for_advice() -> None:
    assert advised("REC001", {}) == []
