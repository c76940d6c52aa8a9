from __future__ import annotations

import math

import numpy as np
import pytest

from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.signals.kernels.rooflines import Slow, slow
from stepscope.signals.shared import job
from stepscope.signals.shared.program import program


def given(
    efficiency: float, dur: int = 10_000, op_class: str = "elementwise", best: float = math.nan
) -> dict[object, object]:
    row = {"name": "aten::mul", "shapes": "[[8,4],[8,4],[]]", "efficiency": efficiency, "op_class": op_class}
    found = Slow(np.array([5]), np.array([dur]), np.array([efficiency]), (row,), dur / 100_000, np.array([best]))
    told = Program("inference", "pytorch", "cuda", "python")
    return {slow: found, job.recorded_ns: 100_000, job.recorded_steps: 2, program: told}


def test_it_names_the_worst_and_prices_a_usual_efficiency() -> None:
    (draft,) = drafts("KRN006", given(0.15))
    assert draft.summary.endswith("aten::mul of 8 x 4 (2 times) to 15 %. At 60 % they would take 1.25 µs.")
    assert draft.change is not None
    assert draft.change.device[0].factor == 0.25
    assert draft.confidence == 0.5


@pytest.mark.parametrize(("best", "factor"), [(0.45, 1 / 3), (0.7, 0.25), (0.29, 0.25), (math.nan, 0.25)])
def test_no_more_is_promised_than_the_best_gemm_reaches(best: float, factor: float) -> None:
    (draft,) = drafts("KRN006", given(0.15, best=best))
    assert draft.change is not None
    assert draft.change.device[0].factor == pytest.approx(factor, abs=0.005)


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
