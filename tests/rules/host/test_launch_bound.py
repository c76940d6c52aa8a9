from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Kind, Program
from stepscope.signals.host import host, profiler_cost
from stepscope.signals.shared import job
from stepscope.signals.shared.program import program

STRETCHES = np.array([0, 500]), np.array([300, 900])


def given(
    share: float, *, steps: int = 5, platform: str = "cuda", gaps: float = 50.0, ramp: float = 0.0
) -> dict[object, object]:
    return {
        profiler_cost.own_dispatch_share: share,
        host.dispatch_gaps: gaps,
        host.ramp_share: ramp,
        host.operators_share: share / 2,
        host.python_share: share / 4,
        host.kernel_ns: 30_000,
        host.launch_period_ns: 40_000,
        host.dispatching: STRETCHES,
        job.step_ns: 1_000,
        job.steps: steps,
        job.platform: platform,
    }


def test_a_device_that_waits_for_launches_is_found() -> None:
    (draft,) = drafts("HST001", given(0.4))
    assert {"40.0 %", "20.0 %", "10.0 %"} <= set(figures(draft.summary))
    assert draft.change is not None
    (stretches,) = draft.change.time
    assert (stretches.starts.tolist(), stretches.factor) == ([0, 500], 0.1)


@pytest.mark.parametrize(("platform", "text"), [("cuda", "torch.compile"), ("npu", "TASK_QUEUE_ENABLE=2")])
def test_the_advice_is_for_the_platform(platform: str, text: str) -> None:
    (draft,) = drafts("HST001", given(0.4, platform=platform))
    assert text in draft.actions[0].after


@pytest.mark.parametrize(("kind", "first"), [("serving", "vllm serve"), ("training", "TASK_QUEUE_ENABLE=2")])
def test_a_server_is_told_of_its_own_settings_first(kind: Kind, first: str) -> None:
    told = Program(kind, "pytorch", "npu", libraries=("vLLM",) if kind == "serving" else ())
    (draft,) = drafts("HST001", {**given(0.4, platform="npu"), program: told})
    assert first in draft.actions[0].after
    assert any("TASK_QUEUE_ENABLE=2" in action.after for action in draft.actions)


def test_without_steps_it_is_less_certain() -> None:
    assert drafts("HST001", given(0.4, steps=0))[0].confidence < drafts("HST001", given(0.4))[0].confidence


def test_just_below_the_threshold_nothing_is_found() -> None:
    assert drafts("HST001", given(0.0999)) == []
    assert len(drafts("HST001", given(0.1))) == 1


def test_a_few_gaps_or_a_queue_that_fills_once_just_miss() -> None:
    assert drafts("HST001", given(0.4, gaps=9.9)) == []
    assert drafts("HST001", given(0.4, ramp=0.91)) == []
    assert len(drafts("HST001", given(0.4, gaps=10, ramp=0.9))) == 1


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST001", {})
