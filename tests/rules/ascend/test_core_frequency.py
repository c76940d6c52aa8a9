from __future__ import annotations

import numpy as np
import pytest

from npu_support import npu_kernels
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_kernels as npu


def given(slow: float) -> dict[object, object]:
    return {npu.kernels: npu_kernels(4), npu.clock: np.array([1_800.0, 1_800.0, slow, slow])}


def test_a_clock_that_falls_is_found_and_priced() -> None:
    (draft,) = drafts("ASC002", given(900.0))
    assert {"1,800 MHz", "25.0 %", "900 MHz"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([2, 3], 0.5)]


def test_the_highest_clock_may_be_that_of_steps_that_are_not_typical() -> None:
    low = {npu.kernels: npu_kernels(4), npu.clock: np.full(4, 900.0)}
    assert drafts("ASC002", low) == []
    (draft,) = drafts("ASC002", {**low, npu.highest_clock: 1_800.0})
    assert {"1,800 MHz", "50.0 %", "900 MHz"} <= set(figures(draft.summary))


def test_a_little_is_not_reported() -> None:
    assert drafts("ASC002", given(1_621.0)) == []
    assert len(drafts("ASC002", given(1_620.0))) == 1


def test_without_the_clock_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC002", {npu.kernels: npu_kernels(4)})
