from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.signals.kernels.kernel_times import Alike
from stepscope.signals.kernels.likes import Slower, uneven
from stepscope.signals.shared import job
from stepscope.signals.shared.dimensions import Dimensions
from stepscope.signals.shared.program import program


def given(factor: float, share: float = 0.5) -> dict[object, object]:
    kernel = Alike("Cijk", "Cijk", "gemm", "[[15360,4096],[4096,24576]]", np.array([7, 8]), 800, share, 457e12, 0.35)
    slower = Slower(kernel, Dimensions(1, 15360, 24576, 4096), 457e12, 457e12 / factor, 3)
    return {uneven: (slower,), program: Program(platform="rocm"), job.recorded_steps: 2}


def test_the_price_is_the_rate_of_the_others() -> None:
    (draft,) = drafts("KRN017", given(0.8))
    assert figures(draft.summary) == [
        "15,360",
        "24,576",
        "35 %",
        "4,096",
        "4,096",
        "400 ns",
        "44 %",
        "457 TFLOP/s",
        "50.0 %",
        "571 TFLOP/s",
    ]
    assert draft.change is not None
    (part,) = draft.change.device
    assert (part.events.tolist(), part.factor) == ([7, 8], 0.8)
    assert "TUNABLEOP" in draft.actions[0].after


def test_a_seventh_slower_or_a_fiftieth_of_the_step_just_misses() -> None:
    assert drafts("KRN017", given(0.86)) == []
    assert len(drafts("KRN017", given(0.84))) == 1
    assert drafts("KRN017", given(0.5, share=0.039)) == []
    assert len(drafts("KRN017", given(0.5, share=0.04))) == 1


def test_without_shapes_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN017", {})
