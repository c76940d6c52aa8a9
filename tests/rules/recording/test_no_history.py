from __future__ import annotations

from recording_support import advised


def test_it_is_advised_without_a_price() -> None:
    (draft,) = advised("REC011", {"history": 0.9})
    assert (draft.change, draft.cost_ns) == (None, None)


def test_wording() -> None:
    (draft,) = advised("REC011", {"history": 0.9})
    assert "Only the moment" in draft.summary


def test_the_advice_is_for_the_profiler_at_hand() -> None:
    (draft,) = advised("REC011", {"history": 0.9}, profiler="memsnapshot")
    assert "_record_memory_history" in draft.actions[0].after


def test_three_weightier_gaps_go_before_it() -> None:
    assert len(advised("REC011", {"history": 0.9, **dict.fromkeys(("lost", "device"), 3.0)})) == 1
    assert advised("REC011", {"history": 0.9, **dict.fromkeys(("lost", "device", "host"), 3.0)}) == []


def test_a_recording_that_has_it_leaves_the_rule_unasked_for_advice() -> None:
    assert advised("REC011", {}) == []


def test_a_history_without_stacks_is_a_history() -> None:
    (draft,) = advised("REC011", {"holders": 0.7})
    (other,) = advised("REC011", {"history": 0.7})
    assert draft.title != other.title
    assert draft.summary != other.summary
