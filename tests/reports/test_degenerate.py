"""No analysis and no rule fails on recordings in which something is empty, of no duration, or all at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stepscope.reports.build import ReportOptions, build_report
from support import Facts


def steps(facts: Facts, dur: int, *, device: bool = True, gap: int = 1_000) -> None:
    """Four steps of three launches each, with a wait and a copy, in which device work takes `dur`."""
    for number in range(4):
        at = number * 10 * gap
        facts.step(number, at, 9 * gap)
        for call in range(3):
            start = at + (1 + call) * gap
            if device:
                facts.kernel("gemm", start + gap // 2, dur, launch=(start, gap // 4))
            else:
                facts.host("op", "aten::mm", start, gap // 4)
        facts.host("sync", "cudaDeviceSynchronize", at + 6 * gap, gap)


def nothing_takes_time(facts: Facts) -> None:
    steps(facts, 0)


def nothing_takes_time_at_all(facts: Facts) -> None:
    steps(facts, 0, gap=0)


def waits_for_nothing(facts: Facts) -> None:
    facts.host("sync", "cudaDeviceSynchronize", 0, 100)


def host_only(facts: Facts) -> None:
    steps(facts, 0, device=False)


def device_only(facts: Facts) -> None:
    for at in range(5):
        facts.kernel("gemm", at * 100, 50)


def one_kernel(facts: Facts) -> None:
    facts.kernel("gemm", 0, 0)


def one_instant(facts: Facts) -> None:
    for _ in range(5):
        facts.kernel("gemm", 7, 0, launch=(7, 0))
        facts.host("op", "aten::mm", 7, 0)


def one_step_of_nothing(facts: Facts) -> None:
    facts.step(0, 0, 0)


def negative_ends(facts: Facts) -> None:
    """Steps that begin after all work."""
    steps(facts, 0)
    facts.step(9, 10**15, 1)


CASES = (nothing_takes_time, nothing_takes_time_at_all, waits_for_nothing, host_only, device_only, one_kernel,
         one_instant, one_step_of_nothing, negative_ends)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_analysis_has_an_answer(case: Callable[[Facts], None]) -> None:
    facts = Facts()
    case(facts)
    report = build_report(facts.trace(reader="kineto"), ReportOptions(strict=True))
    assert not [line for line in report.health if line.code == "analysis-failed"]
