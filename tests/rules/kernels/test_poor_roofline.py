from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.rooflines import Slow, slow
from stepscope.signals.shared import job


def given(efficiency: float, dur: int = 10_000, op_class: str = "elementwise") -> dict[object, object]:
    row = {"name": "aten::mul", "shapes": "[[8,4]]", "efficiency": efficiency, "op_class": op_class}
    found = Slow(np.array([5]), np.array([dur]), np.array([efficiency]), (row,), dur / 100_000)
    return {slow: found, job.recorded_ns: 100_000, job.recorded_steps: 2}


def test_it_names_the_worst_and_prices_a_usual_efficiency() -> None:
    (draft,) = drafts("KRN006", given(0.15))
    assert figures(draft.summary) == ["15 %", "30 %", "5.00 µs", "8,4", "aten::mul"]
    assert draft.change is not None
    assert draft.change.device[0].factor == 0.25
    assert draft.confidence == 0.5


def test_thirty_per_cent_and_what_promises_little_just_miss() -> None:
    assert drafts("KRN006", given(0.3)) == []
    assert drafts("KRN006", given(0.15, 2_660)) == []
    assert len(drafts("KRN006", given(0.15, 2_670))) == 1


def test_attention_is_told_of_other_implementations() -> None:
    (draft,) = drafts("KRN006", given(0.1, op_class="attention"))
    assert "sdpa_kernel" in draft.actions[0].after


def test_without_known_costs_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN006", {})
