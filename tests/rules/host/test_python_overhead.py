from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import host, profiler_cost
from stepscope.signals.shared import job


def given(share: float = 0.4, part: float = 0.6, gap: int = 40_000, gaps: float = 10.0) -> dict[object, object]:
    return {
        profiler_cost.own_dispatch_share: share,
        host.python_part: part,
        host.dispatch_gaps: gaps,
        host.python_per_operator_ns: gap,
        host.in_python: (np.array([0]), np.array([300])),
        job.step_ns: 1_000,
        job.steps: 3,
        job.platform: "cuda",
    }


def test_python_between_operators_is_found() -> None:
    (draft,) = drafts("HST004", given())
    assert figures(draft.summary) == ["40.0 %", "40.0 µs", "60.0 %"]
    assert draft.most_ns == 400
    assert draft.change is not None
    assert draft.change.time[0].ends.tolist() == [300]


def test_little_idle_time_or_a_host_that_is_mostly_in_operators_just_misses() -> None:
    assert drafts("HST004", given(share=0.0299)) == []
    assert len(drafts("HST004", given(share=0.03))) == 1
    assert drafts("HST004", given(part=0.32)) == []
    assert len(drafts("HST004", given(part=0.33))) == 1


def test_what_a_module_usually_takes_just_misses() -> None:
    assert drafts("HST004", given(gap=14_999)) == []
    assert len(drafts("HST004", given(gap=15_000))) == 1


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST004", {})


def test_a_few_gaps_are_no_loop_over_operators() -> None:
    assert drafts("HST004", given(gaps=9.9)) == []
