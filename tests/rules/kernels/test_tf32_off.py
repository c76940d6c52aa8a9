from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.precision import Narrower, in_tf32
from stepscope.signals.shared import job


def given(of_step: float, platform: str = "cuda") -> dict[object, object]:
    found = Narrower(
        "tf32", np.array([3]), np.array([8_000]), np.array([0.125]), False, np.array([], np.int64), 0.9, of_step
    )
    return {in_tf32: found, job.platform: platform, job.recorded_steps: 2}


def test_one_line_turns_it_on() -> None:
    (draft,) = drafts("KRN002", given(0.4))
    assert figures(draft.summary) == ["4.00 µs", "40.0 %", "500 ns"]
    assert 'set_float32_matmul_precision("high")' in draft.actions[0].after
    assert draft.change is not None
    assert draft.change.device[0].factor == 0.12


def test_a_little_less_just_misses() -> None:
    assert drafts("KRN002", given(0.0199)) == []
    assert len(drafts("KRN002", given(0.02))) == 1


def test_other_platforms_have_no_tf32() -> None:
    assert drafts("KRN002", given(0.4, "rocm")) == []


def test_without_a_known_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN002", {job.platform: "cuda", job.device: None})
