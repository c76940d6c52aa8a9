from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import host
from stepscope.signals.shared import job


def given(share: float = 0.4, operator: int = 20_000, call: int = 9_000, idle: float = 0.5) -> dict[object, object]:
    return {
        host.operators_share: share,
        host.idle_share: idle,
        host.operator_ns: operator,
        host.call_ns: call,
        host.in_operators: (np.array([0]), np.array([300])),
        job.step_ns: 1_000,
        job.steps: 3,
        job.platform: "cuda",
    }


def test_slow_operators_are_found_and_priced_against_usual_ones() -> None:
    (draft,) = drafts("HST003", given())
    assert {"20.0 µs", "9.00 µs"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.time[0].factor == pytest.approx(0.1)


def test_where_no_operators_are_recorded_launches_tell() -> None:
    (draft,) = drafts("HST003", given(operator=0, call=20_000))
    assert {"20.0 µs"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.time[0].factor == pytest.approx(0.25)


def test_usual_operators_and_calls_just_miss() -> None:
    assert drafts("HST003", given(operator=7_999, call=14_999)) == []
    assert len(drafts("HST003", given(operator=8_000, call=0))) == 1
    assert len(drafts("HST003", given(operator=1_000, call=15_000))) == 1


def test_a_device_that_hardly_waits_or_waits_for_something_else_just_misses() -> None:
    assert drafts("HST003", given(share=0.0299, idle=0.03)) == []
    assert drafts("HST003", given(share=0.2, idle=0.41)) == []
    assert len(drafts("HST003", given(share=0.2, idle=0.4))) == 1


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST003", {})
