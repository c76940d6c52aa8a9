"""Requests whose work is done before that of earlier ones: no time of the device is theirs alone."""

from __future__ import annotations

import pytest

from stepscope.language import speaking, told
from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import budget
from stepscope.reports.sections.coverage import covered
from stepscope.reports.sections.odd_steps import odd_steps
from support import Facts

US = 1_000


def served(*long: int, steps: tuple[int, ...] = (), requests: int = 6) -> Contents:
    """A report on requests of 150 µs, one every 60 µs, of which some keep a stream of their own busy for 140 µs."""
    f = Facts()
    for i in range(requests):
        at, thread = i * 60 * US, str(1 + i % 3)
        f.host("annotation", "Server::handleRequest", at, 150 * US, thread=thread)
        for j in range(3):
            start, held = at + (10 + 10 * j) * US, i in long and j == 0
            f.kernel(
                f"k{i}{j}", start + 5 * US, (140 if held else 4) * US,
                launch=(start, US), thread=thread, stream="9" if held else "7",
            )  # fmt: skip
    return build_report(f.trace(), ReportOptions(steps=steps))


def lines(report: Contents) -> list[str]:
    return [str(line.text) for line in odd_steps(report)]


def test_requests_without_time_of_their_own_are_named() -> None:
    assert lines(served(1)) == [
        "not counted: step 5 (partial), 39.0 µs: the recording starts or ends within",
        "without time of the device to themselves: step 2; work of earlier ones ended later",
    ]


def test_requests_with_some_are_not() -> None:
    assert len(lines(served())) == 1


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((2,), "1 request without time of the device to itself"),
        ((3,), "1 typical request of 25.0 µs"),
    ],
)
def test_one_alone_has_no_length(steps: tuple[int, ...], expected: str) -> None:
    assert expected in list(covered(served(1, steps=steps)))


def test_the_telling_ones_of_many_are_named_in_chinese() -> None:
    bars = budget(served(1, requests=16), 5).blocks[0].rows
    names = [str(bar.label) for bar in bars]
    assert [name.partition(",")[0] for name in names] == ["fastest", "median", "slowest", "mean"]
    with speaking("zh"):
        assert [told(bar.label).partition("，")[0] for bar in bars] == ["最快", "中位数", "最慢", "平均"]
