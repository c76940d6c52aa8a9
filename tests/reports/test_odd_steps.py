"""Requests whose work is done before that of earlier ones: no time of the device is theirs alone."""

from __future__ import annotations

import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.language import speaking, told
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace
from stepscope.reports.blocks import Line
from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.compared.steps_grid import steps_grid
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import budget
from stepscope.reports.sections.coverage import covered
from stepscope.reports.sections.odd_steps import odd_steps
from support import Facts

US = 1_000


def requests(*long: int, number: int = 6) -> Trace:
    """Requests of 150 µs, one every 60 µs, of which some keep a stream of their own busy for 140 µs."""
    f = Facts()
    for i in range(number):
        at, thread = i * 60 * US, str(1 + i % 3)
        f.host("annotation", "Server::handleRequest", at, 150 * US, thread=thread)
        for j in range(3):
            start, held = at + (10 + 10 * j) * US, i in long and j == 0
            f.kernel(
                f"k{i}{j}", start + 5 * US, (140 if held else 4) * US,
                launch=(start, US), thread=thread, stream="9" if held else "7",
            )  # fmt: skip
    return f.trace()


def served(*long: int, steps: tuple[int, ...] = (), number: int = 6) -> Contents:
    """A report on such requests."""
    return build_report(requests(*long, number=number), ReportOptions(steps=steps))


def lines(report: Contents) -> list[str]:
    return [str(line.text) for line in odd_steps(report)]


def test_requests_without_time_of_their_own_are_named() -> None:
    assert lines(served(1)) == [
        "not counted: step 5 (partial), 39.0 µs: the recording starts or ends within",
        "without time of the device to themselves: step 2; work of earlier ones ended later; they count in means "
        "alone, as 0 ns",
    ]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [((1, 2), [("step 1", 155_000), ("mean", 77_500)]), ((2, 3), [("step 3", 25_000), ("mean", 12_500)])],
)
def test_they_have_no_bar_but_count_in_the_mean(steps: tuple[int, ...], expected: list[tuple[str, int]]) -> None:
    bars = budget(served(1, steps=steps), 5).blocks[0].rows
    assert [(str(bar.label), bar.total) for bar in bars] == expected


def test_one_mean_of_them_everywhere() -> None:
    """The report's, that of costs of findings, and both of a comparison count those without time of their own."""
    trace = requests(1, 7, number=16)
    [one] = [bar for bar in budget(build_report(trace), 5).blocks[0].rows if bar.mean]
    found = compare_traces(trace, requests(1, number=16), CompareOptions(findings=False))
    figures = {figure.name: figure.base for figure in found.step_time.steps.figures}
    assert one.total == Steps.of(trace).typical_ns == found.step_time.base_ns
    assert [int(figures[name] or 0) for name in ("typical_step", "mean_step")] == [one.total, one.total]
    assert found.step_time.steps.to_json()["base"] == {
        "recorded": 16, "complete": 15, "typical": 15, "slow": [], "lost_ns": 0, "at": None, "period": None,
        "starting": [],
    }  # fmt: skip
    said = [str(block.text) for block in steps_grid(found) if isinstance(block, Line)]
    assert said[-2:] == [
        f"{side}: {none} of 15 requests have no time of the device to themselves; they count as steps of 0 ns"
        for side, none in (("base", 2), ("new", 1))
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
    bars = budget(served(1, number=16), 5).blocks[0].rows
    names = [str(bar.label) for bar in bars]
    assert [name.partition(",")[0] for name in names] == ["fastest", "median", "slowest", "mean"]
    with speaking("zh"):
        assert [told(bar.label).partition("，")[0] for bar in bars] == ["最快", "中位数", "最慢", "平均"]
