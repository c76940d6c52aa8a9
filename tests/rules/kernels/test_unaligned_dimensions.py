from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.shapes import Unaligned, unaligned
from stepscope.signals.shared import job
from stepscope.signals.shared.dimensions import Dimensions

NAN = float("nan")


def given(factor: float, dur: int = 10_000) -> dict[object, object]:
    found = Unaligned(
        np.array([7, 8]), np.array([dur, 1]), np.array([factor, 1.0]), Dimensions(1, 8192, 50257, 768), dur / 100_000
    )
    return {unaligned: found, job.recorded_ns: 100_000, job.recorded_steps: 2}


def test_a_gemm_that_is_slower_than_aligned_ones_is_priced_by_them() -> None:
    (draft,) = drafts("KRN003", given(0.6))
    assert figures(draft.summary) == ["16 bytes", "5.00 µs", "50,257", "60 %", "768", "768", "8,192"]
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([7], 0.6)]


def test_odd_sizes_of_a_batch_of_gemms_are_tokens_and_no_vocabulary() -> None:
    found = Unaligned(np.array([7]), np.array([10_000]), np.array([0.6]), Dimensions(96, 3137, 3137, 64), 0.1)
    (draft,) = drafts("KRN003", {**given(0.6), unaligned: found})
    assert "scaled_dot_product_attention" in draft.actions[0].after
    assert not any("50257" in action.before for action in draft.actions)


def test_one_that_is_as_fast_is_none() -> None:
    assert drafts("KRN003", given(0.851)) == []
    assert len(drafts("KRN003", given(0.85))) == 1


def test_what_would_be_saved_must_be_a_hundredth_of_the_step() -> None:
    assert drafts("KRN003", given(0.5, 1_990)) == []
    assert len(drafts("KRN003", given(0.5, 2_000))) == 1


def test_with_nothing_to_compare_it_is_advice_from_a_twentieth_of_the_step() -> None:
    (draft,) = drafts("KRN003", given(NAN))
    assert draft.change is None
    assert draft.cost_ns is None
    assert drafts("KRN003", given(NAN, 4_990)) == []


def test_without_gemms_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN003", {})
