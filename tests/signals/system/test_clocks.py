from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.system import clocks
from support import Facts


def recorded(*lengths: int, once: bool = False) -> Facts:
    """Steps in which two kernels take so long; another one runs in the first step only."""
    facts = Facts()
    for number, length in enumerate(lengths):
        at = number * 1_000_000
        facts.step(number, at, 1_000_000)
        facts.kernel("gemm", at, length, launch=(at, 10), grid=[8, 1, 1])
        facts.kernel("gemm", at + 300_000, 2 * length, launch=(at, 10), grid=[16, 1, 1])
        if once and number == 0:
            facts.kernel("other", at + 700_000, 200_000, launch=(at, 10))
    return facts


def test_the_same_kernels_are_compared_with_the_fastest_steps() -> None:
    s = Signals.of(recorded(100, 100, 100, 150, 150, 150, once=True).trace())
    assert s(clocks.pace).slowness.tolist() == pytest.approx([1, 1, 1, 1.5, 1.5, 1.5])
    assert s(clocks.lost_share) == pytest.approx(0.25)
    assert [factor for _, factor in s(clocks.slow_kernels)] == pytest.approx([1 / 1.5] * 3)


def test_even_steps_lose_nothing() -> None:
    assert Signals.of(recorded(*[100] * 6).trace())(clocks.lost_share) == pytest.approx(0.0)


def test_few_steps_tell_nothing() -> None:
    with pytest.raises(MissingInputError, match="6 complete steps"):
        Signals.of(recorded(100, 150, 100, 150, 100).trace())(clocks.pace)


def test_the_clock_that_falls_furthest_is_told() -> None:
    facts = recorded(*[100_000] * 6)
    for name, values in (("SYS Clock Frequency", (990, 1000, 1000)), ("GPC Clock Frequency", (1980, 1200, 1500))):
        track = facts.staging.track("counter", process="gpu", thread=name)
        for position, value in enumerate(values):
            facts.row("counters", ts=position * 1_000_000 + 1, track=track, name=name, value=value)
    s = Signals.of(facts.trace())
    assert s(clocks.sampled) == clocks.ClockSamples("GPC Clock Frequency", 1980, 1560, 1200)


def test_without_samples_there_is_no_clock() -> None:
    assert Signals.of(recorded(*[100] * 6).trace())(clocks.sampled) is None
