from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.copies.copy_kinds import Packed, packed, small
from stepscope.signals.shared import job
from transfer_support import copies


def given(per_step: float) -> dict[object, object]:
    every = copies(*[{"bytes": 1024, "wait": 90, "waited": 500}] * 3)
    found = Packed(every.where([False, True, True]), np.array([7]), 9_000, per_step)
    return {packed: found, small: every, job.recorded_steps: 1, job.platform: "npu"}


def test_all_but_one_go_away_with_their_operators_and_waits() -> None:
    (draft,) = drafts("CPY003", given(12.0))
    assert figures(draft.summary) == ["1.53 µs", "12", "3.00 KiB", "9.20 µs"]
    assert draft.most_ns == 9_200
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([11, 12], 0.0)]
    assert [(part.events.tolist(), part.factor) for part in draft.change.host] == [([7], 0.0)]
    assert draft.change.unblocked.tolist() == [51, 52, 90]
    assert 'device="npu"' in draft.actions[1].after


def test_nine_just_miss() -> None:
    assert drafts("CPY003", given(9.9)) == []
    assert len(drafts("CPY003", given(10.0))) == 1


def test_without_copies_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY003", {})
