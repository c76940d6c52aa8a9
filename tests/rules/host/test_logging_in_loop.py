from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import logging_functions
from stepscope.signals.shared import job

FOUND = logging_functions.Logging(
    np.array([3, 8, 9]), np.array([0, 10, 20]), np.array([4, 9, 2]), ("train.py(3): log_metrics",)
)


def given(share: float) -> dict[object, object]:
    return {
        logging_functions.logging: FOUND,
        logging_functions.logging_share: share,
        logging_functions.logging_waits_ns: 0,
        job.recorded_steps: 2,
        job.step_ns: 1_000_000,
        job.stepless: False,
    }


def test_logging_in_each_step_is_found_by_name() -> None:
    (draft,) = drafts("HST006", given(0.2))
    assert figures(draft.summary) == ["1.5", "20.0 %", "log_metrics", "train.py(3)"]
    assert draft.events.tolist() == [8, 3, 9]
    assert draft.change is not None
    assert draft.change.host[0].factor == 0


def test_just_below_the_threshold_or_without_any_nothing_is_found() -> None:
    assert drafts("HST006", given(0.0099)) == []
    assert len(drafts("HST006", given(0.01))) == 1
    none = logging_functions.Logging(*(np.zeros(0, np.int64),) * 3, ())
    assert drafts("HST006", {logging_functions.logging: none}) == []


def test_without_functions_or_calls_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST006", {})


def test_waiting_for_the_device_in_them_is_named() -> None:
    few, many = (
        drafts("HST006", {**given(0.5), logging_functions.logging_waits_ns: ns})[0].summary for ns in (49_999, 50_000)
    )
    assert "50.0 µs" not in figures(few)
    assert "50.0 µs" in figures(many)


def test_one_call_without_steps_is_no_loop() -> None:
    one = logging_functions.Logging(np.array([3]), np.array([0]), np.array([4]), ("train.py(3): log_metrics",))
    for found, stepless, number in ((one, True, 0), (one, False, 1), (FOUND, True, 1)):
        told = {**given(0.2), logging_functions.logging: found, job.stepless: stepless}
        assert len(drafts("HST006", told)) == number


def test_one_call_in_many_steps_is_no_loop_and_wording_counts_rare_ones() -> None:
    one = logging_functions.Logging(np.array([3]), np.array([0]), np.array([4]), ("train.py(3): log_metrics",))
    once = {**given(0.2), logging_functions.logging: one}
    assert [len(drafts("HST006", {**once, job.recorded_steps: steps})) for steps in (2, 3)] == [1, 0]
    (rare,) = drafts("HST006", {**given(0.2), job.recorded_steps: 100})
    assert "in 3 calls in 100 steps: " in rare.summary


def test_what_only_looks_a_logger_up_logs_nothing() -> None:
    assert logging_functions.is_logging("logging/__init__.py(1477): debug")
    assert not logging_functions.is_logging("logging/__init__.py(2081): getLogger")
