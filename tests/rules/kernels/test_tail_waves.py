from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.waves import Tails, tails
from stepscope.signals.shared import job


def given(of_step: float) -> dict[object, object]:
    found = Tails(np.array([3, 4]), np.array([600, 400]), np.full(2, 0.5), "gemm", 1.25, 0.375, of_step)
    return {tails: found, job.recorded_steps: 1}


def test_gemms_that_don_t_fill_their_waves_are_found() -> None:
    (draft,) = drafts("KRN005", given(0.5))
    assert {"1.2", "38 %"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([3, 4], 0.5)]


def test_what_would_be_saved_decides() -> None:
    assert drafts("KRN005", given(0.02 - 0.0001)) == []
    assert len(drafts("KRN005", given(0.02))) == 1


def test_no_such_kernels_are_no_finding() -> None:
    nothing = np.zeros(0, np.int64)
    assert drafts("KRN005", {tails: Tails(nothing, nothing, np.zeros(0), "", 0.0, 0.0, 0.0)}) == []


def test_without_kernels_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN005", {})
