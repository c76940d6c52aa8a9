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


def test_kernels_of_which_few_are_slower_have_more_to_do() -> None:
    facts = recorded(*[100_000] * 6)
    for number in range(6):
        at = number * 1_000_000
        facts.kernel("lookup", at + 600_000, 50_000 if number < 3 else 250_000, launch=(at, 10), grid=[8, 1, 1])
    with pytest.raises(MissingInputError, match="only some kernels"):
        Signals.of(facts.trace())(clocks.pace)


def test_steps_that_compute_other_sizes_are_not_compared() -> None:
    facts = Facts()
    for number in range(6):
        at = number * 1_000_000
        facts.step(number, at, 1_000_000)
        op = facts.host("op", "aten::mm", at, 5_000)
        facts.row("op_inputs", event=op, shapes=f"[[{64 * (number % 3 + 1)},64],[64,64]]")
        facts.kernel("persistent", at + 10_000, 100_000 * (number % 3 + 1), launch=(at + 100, 1_000), grid=[132, 1, 1])
    with pytest.raises(MissingInputError, match="6 complete steps"):
        Signals.of(facts.trace())(clocks.pace)
