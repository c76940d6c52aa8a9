from __future__ import annotations

import pytest

from stepscope.language import Said, said, told
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
    ("text", "instead"),
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
def test_without_steps_nothing_is_said_of_one(text: str, instead: str) -> None:
    assert without_steps(text) == instead


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        (said("Compute kernels take most of the step"), "计算 kernel 占用了大部分时间"),
        ("Compute kernels take most of the step", "计算 kernel 占用了大部分时间"),
        ("Numbers are read from the device during the step", "从设备读取数值"),
        (often(9), "9 次"),
    ],
)
def test_nor_in_chinese(text: str, instead: str) -> None:
    assert told(without_steps(text), "zh").strip() == instead


def test_a_text_with_braces_is_no_pattern() -> None:
    assert not isinstance(without_steps("f{x} per step"), Said)
    assert without_steps("f{x} per step") == "f{x}"
