from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared import job
from stepscope.signals.system import clocks
from support import Facts


def given(lost: float, clock: clocks.ClockSamples | None = None) -> dict[object, object]:
    return {
        clocks.lost_share: lost,
        clocks.pace: clocks.Pace(np.arange(3), np.array([1.0, 1.02, 1.3])),
        clocks.sampled: clock,
        clocks.slow_kernels: ((np.array([4]), 1 / 1.02), (np.array([9]), 1 / 1.3)),
        job.platform: "cuda",
    }


def test_slower_steps_are_found() -> None:
    (draft,) = drafts("SYS004", given(0.1))
    assert figures(draft.summary) == ["10.0 %", "30.0 %"]
    assert draft.steps == (2,)
    assert draft.change is not None
    assert [part.events.tolist() for part in draft.change.device] == [[4], [9]]


def test_samples_of_a_clock_make_it_certain() -> None:
    (draft,) = drafts("SYS004", given(0.1, clocks.ClockSamples("GPC Clock Frequency", 1980, 1500, 1200)))
    assert {"1,200", "1,980"} <= set(figures(draft.summary))
    assert draft.confidence > drafts("SYS004", given(0.1))[0].confidence


def test_samples_that_hardly_fall_do_not() -> None:
    (draft,) = drafts("SYS004", given(0.1, clocks.ClockSamples("GPC Clock Frequency", 1980, 1950, 1200)))
    assert figures(draft.summary) == figures(drafts("SYS004", given(0.1))[0].summary)


def test_just_below_the_threshold_nothing_is_found() -> None:
    assert drafts("SYS004", given(0.0499)) == []
    assert len(drafts("SYS004", given(0.05))) == 1


def test_without_enough_steps_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYS004", {})


def test_the_price_is_what_the_kernels_take_longer() -> None:
    facts = Facts()
    now = 0
    for number in range(8):
        length = 100_000 if number < 4 else 150_000
        facts.step(number, number * 1000, 1000)  # the host is far ahead
        for kernel in range(10):
            launch = number * 1000 + kernel * 100, 50
            facts.kernel("gemm", now + 50 + kernel * length, length, launch=launch, grid=[64, 1, 1])
        now += 10 * length
    (finding,) = findings("SYS004", facts.trace())
    assert finding.cost_ns == pytest.approx(250_000, rel=0.05)
