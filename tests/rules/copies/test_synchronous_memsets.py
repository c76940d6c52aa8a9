from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.copies.copy_kinds import memsets
from stepscope.signals.shared import job
from transfer_support import copies

MEMSET = {"direction": "set", "src": "", "dst": "pinned", "ts": 100, "dur": 900, "called": 0, "returned": 1_000}


def given(step_ns: int) -> dict[object, object]:
    return {memsets: copies(MEMSET), job.recorded_ns: step_ns, job.recorded_steps: 1}


def test_a_set_that_the_host_waits_for_is_found() -> None:
    (draft,) = drafts("CPY006", given(10_000))
    assert figures(draft.summary) == ["1", "1.00 µs"]
    assert draft.change is not None
    assert draft.change.unblocked.tolist() == [50]


def test_less_than_a_hundredth_of_the_step_just_misses() -> None:
    assert drafts("CPY006", given(100_001)) == []
    assert len(drafts("CPY006", given(100_000))) == 1


def test_without_copies_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY006", {})
