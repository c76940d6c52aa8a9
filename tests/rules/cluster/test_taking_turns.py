from __future__ import annotations

import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.communication.turns import Turns, turns
from stepscope.signals.shared import job
from support import Facts

MS = 1_000_000


def given(any_share: float = 0.9, overlap: float = 0.01, idle_ns: int = 40) -> dict[object, object]:
    return {turns: Turns((0, 1), (0.5, 0.4), any_share, overlap, idle_ns), job.step_ns: 100}


def job_of(second: int, *, length: int = 5 * MS, device: int = 1, steps: int = 4) -> Facts:
    """Steps of 10 ms: device 0 computes for 5 ms, and the other one for `length` from `second` on."""
    facts = Facts()
    for step in range(steps):
        at = 10 * MS * step
        facts.step(step, at, 10 * MS)
        facts.kernel("gemm", at + 10_000, 5 * MS, launch=(at + 1_000, 2_000), kind="compute")
        facts.kernel("gemm", at + 10_000 + second, length, launch=(at + 4_000, 2_000), kind="compute", device=device)
    return facts


def test_devices_that_compute_one_after_the_other_are_named_with_what_to_do() -> None:
    (draft,) = drafts("CLU008", given())
    assert figures(draft.summary) == ["1.0 %", "2", "40 ns", "40.0 %", "50.0 %"]
    assert (draft.taken_ns, draft.waiting, draft.cost_ns) == (40, True, None)
    assert "pipeline" in draft.actions[1].text


@pytest.mark.parametrize(
    "nearly", [given(any_share=0.699), given(overlap=0.0501), given(idle_ns=9), {**given(), turns: None}]
)
def test_what_just_misses_is_not_named(nearly: dict[object, object]) -> None:
    assert drafts("CLU008", nearly) == []
    assert len(drafts("CLU008", given(0.7, 0.05, 10))) == 1


def test_without_steps_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CLU008", {job.stepless: True})
    with pytest.raises(MissingInputError):
        drafts("CLU008", {job.stepless: False, job.steps: 1})


def test_the_second_half_of_a_model_on_another_device_takes_turns_with_the_first() -> None:
    (found,) = findings("CLU008", job_of(5 * MS).trace())
    assert found.taken_ns == pytest.approx(5 * MS, rel=0.01)
    assert found.shown


@pytest.mark.parametrize(
    "other",
    [
        job_of(0),  # both at once
        job_of(4 * MS),  # a fifth of the time at once
        job_of(5 * MS, length=MS // 2),  # on the side
        job_of(5 * MS, device=0),  # a single device
    ],
)
def test_devices_that_overlap_or_one_of_which_does_little_are_not_named(other: Facts) -> None:
    assert findings("CLU008", other.trace()) == []


def test_a_device_that_computes_in_one_of_the_steps_takes_no_turn() -> None:
    facts = job_of(5 * MS)
    facts.kernel("gemm", 26 * MS, 9 * MS, kind="compute", device=2)
    found = Signals.of(facts.trace())(turns)
    assert found is not None
    assert found.devices == (0, 1)
    assert (found.any_share, found.shares) == (pytest.approx(1.0, rel=0.01), pytest.approx((0.5, 0.5), rel=0.01))
