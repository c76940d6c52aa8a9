from __future__ import annotations

from recording_support import advised
from stepscope.signals.host import one_time
from stepscope.signals.shared import job


def test_it_is_advised_without_a_price() -> None:
    (draft,) = advised("REC005", {"steps": 0.5})
    assert (draft.change, draft.cost_ns) == (None, None)


def test_wording() -> None:
    (draft,) = advised("REC005", {"steps": 0.5})
    assert "fewer than three whole steps" in draft.summary


def test_the_advice_is_for_the_profiler_at_hand() -> None:
    (draft,) = advised("REC005", {"steps": 0.5}, profiler="memsnapshot")
    assert "record_function" in draft.actions[0].after


def test_three_weightier_gaps_go_before_it() -> None:
    assert len(advised("REC005", {"steps": 0.5, **dict.fromkeys(("lost", "device"), 3.0)})) == 1
    assert advised("REC005", {"steps": 0.5, **dict.fromkeys(("lost", "device", "host"), 3.0)}) == []


def test_an_untold_start_is_said_with_it_in_the_place_of_its_length() -> None:
    (draft,) = advised("REC005", {"steps": 0.5}, given={one_time.untold_start: 8_600_000_000})
    assert "8.60 s" in draft.summary
    assert draft.placed_as_ns == 8_600_000_000
    assert "with_stack=True" in draft.actions[1].after
    (draft,) = advised("REC005", {"steps": 0.5}, given={one_time.untold_start: 8_600_000_000, job.steps: 1})
    assert (draft.placed_as_ns, len(draft.actions)) == (None, 2)
    (draft,) = advised("REC005", {"steps": 0.5}, given={one_time.untold_start: 0})
    assert draft.placed_as_ns is None


def test_a_recording_that_has_it_leaves_the_rule_unasked_for_advice() -> None:
    assert advised("REC005", {}) == []
