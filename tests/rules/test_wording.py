from __future__ import annotations

import pytest

from stepscope.rules.wording import often, without_steps


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.0, "never"),
        (0.5, "once in 2 steps"),
        (0.75, "once per step"),
        (1.4, "once per step"),
        (9.0, "9 times per step"),
    ],
)
def test_how_often(rate: float, text: str) -> None:
    assert often(rate) == text


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("98 times per step, data are copied", "98 times, data are copied"),
        ("Once per step, the loss runs as 3 operations", "Once, the loss runs as 3 operations"),
        ("200 copies per step, 3.00 MiB in all, wait", "200 copies, 3.00 MiB in all, wait"),
        ("1.00 ms of each step (9.0 %) go to waiting", "1.00 ms of the time (9.0 %) go to waiting"),
        ("For 30.0 % of the step the device waits", "For 30.0 % of the time the device waits"),
        ("Numbers are read from the device during the step", "Numbers are read from the device"),
        (
            "Faster or fewer kernels are what would shorten the step.",
            "Faster or fewer kernels are what would shorten it.",
        ),
        ("Fewer than three whole steps are recorded", "Fewer than three whole steps are recorded"),
    ],
)
def test_without_steps_nothing_is_said_of_one(said: str, instead: str) -> None:
    assert without_steps(said) == instead
