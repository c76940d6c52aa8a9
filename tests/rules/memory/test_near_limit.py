from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import memory
from stepscope.signals.memory.memory import Peak

GIB = 1 << 30
PEAK = Peak(0, 76 * GIB, False, 78 * GIB, 80 * GIB, 20 * GIB)


def given(share: float) -> dict[object, object]:
    return {memory.failures: (), memory.used_share: share, memory.fullest: PEAK}


def test_a_nearly_full_device_is_found() -> None:
    (draft,) = drafts("MEM001", given(0.95))
    assert figures(draft.summary) == ["76.0 GiB", "95.0 %"]
    assert "checkpoint" in draft.actions[0].after
    assert draft.change is None


def test_failed_allocations_are_a_finding_of_their_own() -> None:
    assert drafts("MEM001", {**given(0.95), memory.failures: ({"ts": 5},)}) == []


def test_just_below_the_threshold_nothing_is_found() -> None:
    assert drafts("MEM001", given(0.8999)) == []
    assert len(drafts("MEM001", given(0.9))) == 1


def test_without_sizes_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM001", {memory.failures: ()})
