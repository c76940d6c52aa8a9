from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.signals.host import own_work, profiler_cost
from stepscope.signals.shared import job
from support import Facts

MS = 1_000_000


def given(share: float = 0.4, *, prepares: bool = True, late: float = 1.0) -> dict[object, object]:
    found = Intervals(np.array([0]), np.array([400_000]))
    return {
        own_work.own_work_share: share,
        profiler_cost.own_late_share: late,
        own_work.own_work: own_work.Doing(found, "pipeline.py(4): preprocess", (), prepares),
        job.step_ns: 1_000_000,
        job.platform: "cuda",
    }


def test_input_that_is_prepared_between_launches_is_found() -> None:
    (draft,) = drafts("DAT006", given())
    assert figures(draft.summary) == ["40.0 %", "400 µs", "pipeline.py(4)"]
    assert draft.most_ns == 400_000


def test_just_below_the_threshold_and_for_other_work_nothing_is_said() -> None:
    assert drafts("DAT006", given(0.0499)) == []
    assert drafts("DAT006", given(prepares=False)) == []


def test_what_the_profiler_adds_is_taken_off() -> None:
    assert drafts("DAT006", given(late=0.0499)) == []
    assert len(drafts("DAT006", given(late=0.05))) == 1


def one_call(function: str, steps: int = 0) -> Facts:
    """A pipeline's call: 140 ms on the host, then 15 ms of kernels."""
    facts = Facts()
    facts.host("python", f"pipelines/base.py(1200): {function}", 0, 140 * MS)
    facts.host("op", "aten::linear", 140 * MS, 15 * MS)
    for kernel in range(40):
        ts = 140 * MS + kernel * MS // 3
        facts.kernel("gemm", ts + 10_000, 300_000, launch=(ts, 5_000))
    for step in range(steps):
        facts.step(step, 140 * MS + step * MS, MS)
    return facts


def test_input_that_is_prepared_before_the_first_work_is_found_where_there_are_no_steps() -> None:
    (finding,) = findings("DAT006", one_call("preprocess").trace())
    assert (finding.cost_ns, finding.waiting) == (None, True)
    assert finding.recorded_share == pytest.approx(0.9, abs=0.02)
    assert "pipelines/base.py(1200): preprocess" in finding.summary
    assert findings("DAT006", one_call("init_weights").trace()) == []
    assert findings("DAT006", one_call("preprocess", steps=6).trace()) == []


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT006", {})
