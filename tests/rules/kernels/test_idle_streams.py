from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.streams import Apart, apart
from stepscope.signals.shared import job


def given(of_step: float) -> dict[object, object]:
    found = Apart(np.array([3, 4]), np.array([100, 900]), 2, of_step)
    return {apart: found, job.platform: "cuda", job.recorded_steps: 1}


def test_kernels_that_wait_for_another_queue_are_found() -> None:
    (draft,) = drafts("KRN014", given(0.1))
    assert figures(draft.summary) == ["1.00 µs", "2", "2"]
    assert draft.events.tolist() == [4, 3]
    assert draft.change is not None
    assert draft.change.overlapped.tolist() == [3, 4]


def test_less_than_a_hundredth_of_the_step_just_misses() -> None:
    assert drafts("KRN014", given(0.0099)) == []
    assert len(drafts("KRN014", given(0.01))) == 1


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN014", {})
