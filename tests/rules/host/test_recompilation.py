from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import compiling
from stepscope.signals.shared import job


def given(share: float, steps: int = 3) -> dict[object, object]:
    found = compiling.Compilations(
        np.array([3, 8]), np.array([0, 10]), np.array([300, 900]), steps, ("compile_inner (dynamo_timed)",)
    )
    return {compiling.compilations: found, compiling.compiling_share: share, job.recorded_steps: 5}


def test_compilation_in_the_loop_is_found() -> None:
    (draft,) = drafts("HST010", given(0.3))
    assert figures(draft.summary) == ["3", "30.0 %", "5", "900 ns", "compile_inner", "dynamo_timed)"]
    assert "TORCH_LOGS" in draft.actions[0].after
    assert draft.events.tolist() == [8, 3]


def test_in_a_single_step_it_may_be_the_first_one() -> None:
    (draft,) = drafts("HST010", given(0.3, 1))
    assert draft.confidence < drafts("HST010", given(0.3))[0].confidence
    assert "before the loop" in draft.actions[0].text


def test_just_below_the_threshold_or_without_any_nothing_is_found() -> None:
    assert drafts("HST010", given(0.0099)) == []
    assert len(drafts("HST010", given(0.01))) == 1
    none = compiling.Compilations(*(np.zeros(0, np.int64),) * 3, 0, ())
    assert drafts("HST010", {compiling.compilations: none}) == []


def once(total: int, inside: int, *, recorded: int = 1000, step: int = 500) -> dict[object, object]:
    events = np.array([3])
    found = compiling.Compilations(events, np.array([0]), np.array([inside]), 1, ("compile_inner (dynamo_timed)",))
    every = compiling.CompiledOnce(total, recorded, total - inside, ("compile_inner (dynamo_timed)",), events)
    return {job.stepless: True, job.step_ns: step, compiling.compilations: found, compiling.compiled_once: every}


def test_without_steps_all_compilation_counts_and_whether_it_recurs_is_left_open_by_its_wording() -> None:
    (draft,) = drafts("HST010", once(800, 400))
    assert draft.title == "Most of what is recorded is compilation"
    assert {"800 ns", "80.0 %"} <= set(figures(draft.summary))
    assert "can't tell" in draft.summary
    assert draft.change is not None
    assert draft.change.host[0].events.tolist() == [3]
    assert "before the recording" in draft.actions[0].text


def test_compilation_before_the_device_is_used_has_a_share_by_its_wording() -> None:
    (draft,) = drafts("HST010", once(400, 0))
    assert (draft.change, draft.recorded_share, draft.placed_as_ns) == (None, 0.4, 400)
    assert draft.title == "Code is compiled while it is recorded"
    assert drafts("HST010", once(249, 0)) == []
    assert len(drafts("HST010", once(250, 0))) == 1
    assert drafts("HST010", once(4, 4)) == []
    assert len(drafts("HST010", once(5, 5))) == 1


def test_without_signals_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST010", {})
