from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.layouts import Layouts, conversions
from stepscope.signals.shared import job


def given(of_step: float, platform: str = "cuda") -> dict[object, object]:
    found = Layouts(np.array([3, 4]), np.array([600, 400]), np.array([1]), "nchwToNhwcKernel", of_step, True)
    return {conversions: found, job.platform: platform, job.recorded_steps: 2}


def test_conversions_are_found_and_taken_away() -> None:
    (draft,) = drafts("KRN007", given(0.05))
    assert figures(draft.summary) == ["1", "5.0 %", "500 ns"]
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([3, 4], 0.0)]
    assert [(part.events.tolist(), part.factor) for part in draft.change.host] == [([1], 0.0)]
    assert "channels_last" in draft.actions[0].after


def test_less_than_a_hundredth_of_the_step_just_misses() -> None:
    assert drafts("KRN007", given(0.0099)) == []
    assert len(drafts("KRN007", given(0.01))) == 1


def test_without_convolutions_there_is_no_layout_to_keep() -> None:
    found = Layouts(np.array([3]), np.array([600]), np.array([1]), "batched_transpose_32x32", 0.5, False)
    assert drafts("KRN007", {**given(0.5), conversions: found}) == []


def test_formats_of_ascend_are_left_to_its_own_rule() -> None:
    assert drafts("KRN007", given(0.5, "npu")) == []


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN007", {job.platform: "cuda"})
