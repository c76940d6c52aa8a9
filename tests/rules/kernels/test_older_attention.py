from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.older_kernels import Older, older_attention
from stepscope.signals.shared import job


def given(share: float) -> dict[object, object]:
    return {older_attention: Older(np.array([8, 3]), 4_000, share), job.recorded_steps: 2}


def test_the_price_is_that_of_kernels_one_and_a_half_times_as_fast() -> None:
    (draft,) = drafts("KRN018", given(0.45))
    assert figures(draft.summary) == ["1.5", "2", "2.00 µs", "3", "45.0 %"]
    assert draft.change is not None
    (part,) = draft.change.device
    assert (part.events.tolist(), part.factor) == ([8, 3], pytest.approx(2 / 3))


def test_less_than_a_twentieth_of_the_step_just_misses() -> None:
    assert drafts("KRN018", given(0.049)) == []
    assert len(drafts("KRN018", given(0.05))) == 1


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN018", {})
