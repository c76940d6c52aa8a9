from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.copies.copy_kinds import synchronous
from stepscope.signals.shared import job
from transfer_support import copies

COPY = {"ts": 100, "dur": 900, "called": 0, "returned": 1_000, "blocking": True}


def given(step_ns: int, platform: str = "cuda", steps: int = 1) -> dict[object, object]:
    return {
        synchronous: copies(COPY),
        job.recorded_ns: step_ns,
        job.recorded_steps: steps,
        job.platform: platform,
    }


def test_a_copy_by_a_waiting_call_is_found() -> None:
    (draft,) = drafts("CPY002", given(10_000))
    assert figures(draft.summary) == ["1", "1.00 MiB", "1.00 µs"]
    assert draft.change is not None
    assert draft.change.unblocked.tolist() == [50]


def test_the_call_is_that_of_the_platform() -> None:
    for platform, call in (("cuda", "cudaMemcpyAsync"), ("rocm", "hipMemcpyAsync"), ("npu", "aclrtMemcpyAsync")):
        (draft,) = drafts("CPY002", given(10_000, platform))
        assert call in draft.actions[0].after


def test_little_time_and_rare_copies_just_miss() -> None:
    assert drafts("CPY002", given(190_001)) == []
    assert len(drafts("CPY002", given(190_000))) == 1
    assert drafts("CPY002", given(10_000, steps=3)) == []


def test_without_copies_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY002", {})
