from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.engine import diagnose
from stepscope.rules.settings import Settings
from stepscope.signals.host import host, profiler_cost
from stepscope.signals.shared import job
from stepscope.signals.shared.program import program
from support import Facts


def given(
    share: float = 0.5, kernel: int = 5_000, period: int = 20_000, gaps: float = 40.0, ramp: float = 0.0
) -> dict[object, object]:
    return {
        profiler_cost.own_dispatch_share: share,
        host.dispatch_gaps: gaps,
        host.ramp_share: ramp,
        host.kernel_ns: kernel,
        host.launch_period_ns: period,
        host.dispatching: (np.array([0]), np.array([300])),
        job.step_ns: 1_000,
        job.steps: 3,
        job.platform: "cuda",
    }


def test_kernels_shorter_than_their_launches_are_found() -> None:
    (draft,) = drafts("HST002", given())
    assert figures(draft.summary) == ["20.0 µs", "5.00 µs", "50.0 %"]


def test_longer_kernels_or_faster_launches_just_miss() -> None:
    assert drafts("HST002", given(kernel=10_000)) == []
    assert drafts("HST002", given(period=5_000)) == []
    assert len(drafts("HST002", given(kernel=9_999, period=10_000))) == 1


def test_where_the_device_is_busy_short_kernels_cost_nothing() -> None:
    assert drafts("HST002", given(share=0.0999)) == []


def test_a_few_gaps_or_a_queue_that_fills_once_just_miss() -> None:
    assert drafts("HST002", given(0.4, gaps=9.9)) == []
    assert drafts("HST002", given(0.4, ramp=0.91)) == []
    assert len(drafts("HST002", given(0.4, gaps=10, ramp=0.9))) == 1


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST002", {})


def starved() -> Facts:
    facts = Facts()
    for number in range(3):
        at = number * 4_000_000
        facts.step(number, at, 4_000_000)
        for call in range(40):
            start = at + call * 100_000
            facts.host("op", "aten::relu", start + 20_000, 70_000)
            facts.kernel("relu", start + 85_000, 5_000, launch=(start + 80_000, 4_000))
    return facts


def test_the_price_is_the_time_of_the_host() -> None:
    (finding,) = findings("HST002", starved().trace())
    assert finding.cost_ns is not None
    assert finding.cost_ns / 4_000_000 == pytest.approx(0.87, abs=0.05)


def test_that_the_device_waits_is_its_symptom() -> None:
    found = diagnose(starved().trace(), Settings(select=("HST001", "HST002")), strict=True).findings
    assert [(f.code, f.symptoms) for f in found] == [("HST002", ("The device waits for the host to launch work",))]


@pytest.mark.parametrize(("recorded", "said"), [({"with_stack"}, True), ({"record_shapes"}, False)])
def test_wording_of_a_host_that_is_slowed_by_stacks(recorded: set[str], said: bool) -> None:
    told = Program("inference", "pytorch", "cuda", "python", recorded=frozenset(recorded))
    (draft,) = drafts("HST002", {**given(), program: told})
    assert ("Call stacks are recorded" in draft.summary) is said
