from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.recording.enough import verdict
from support import Facts

MS = 1_000_000


def kind(facts: Facts, reader: str = "kineto") -> str:
    return Signals.of(facts.trace(reader=reader))(verdict).kind


def kernels(number: int, dur: int) -> Facts:
    facts = Facts()
    for at in range(number):
        facts.kernel("gemm", at * MS + 100, dur, launch=(at * MS, 50))
    return facts


@pytest.mark.parametrize(("number", "dur", "want"), [(30, 33_000, "few"), (31, 1_000, ""), (4, 250_000, "")])
def test_a_handful_of_short_kernels_is_no_job(number: int, dur: int, want: str) -> None:
    assert kind(kernels(number, dur)) == want


def test_one_kernel_is_said_in_the_singular() -> None:
    text = Signals.of(kernels(1, 1_800).trace())(verdict).text
    assert text == "Only one kernel or copy ran on the device, 1.80 µs in all: too few to judge a job by."


def started(cold_ms: int, warm_steps: int) -> Facts:
    """A step in which loading a kernel takes so long, and warm ones of 40 kernels."""
    facts = Facts()
    facts.step(0, 0, (cold_ms + 10) * MS)
    facts.kernel("gemm", 20_000, 1_000, launch=(10_000, 5_000))
    facts.kernel("first", (cold_ms + 1) * MS, MS, launch=(100_000, cold_ms * MS))
    for call in range(38):  # as much as a warm step launches: the recording is not cut off within it
        start = (cold_ms + 4) * MS + call * 100_000
        facts.kernel("gemm", start + 20_000, 80_000, launch=(start, 5_000))
    at = (cold_ms + 10) * MS
    for number in range(warm_steps):
        facts.step(number + 1, at, 10 * MS)
        for call in range(40):
            start = at + call * 250_000
            facts.kernel("gemm", start + 20_000, 200_000, launch=(start, 5_000))
        at += 10 * MS
    return facts


@pytest.mark.parametrize(("cold_ms", "warm_steps", "want"), [(500, 2, "first use"), (500, 3, ""), (15, 2, "")])
def test_what_happens_once_is_not_the_job(cold_ms: int, warm_steps: int, want: str) -> None:
    facts = started(cold_ms, warm_steps)
    facts.kernel("first", (cold_ms + 2) * MS + 500_000, MS, launch=((cold_ms + 2) * MS, 1_000))
    assert kind(facts) == want


@pytest.mark.parametrize(("kernels_too", "want"), [(False, "few"), (True, "")])
def test_a_few_copies_alone_are_no_job(kernels_too: bool, want: str) -> None:
    facts = Facts()
    for number in range(7):
        facts.kernel("copy", number * 2 * MS, MS, launch=(number * 2 * MS, 5_000), kind="copy")
    if kernels_too:
        facts.kernel("gemm", 20 * MS, MS, launch=(19 * MS, 5_000))
    assert kind(facts) == want


def marked(steps: int, dur: int, kind: str) -> Facts:
    facts = Facts()
    for step in range(steps):
        facts.step(step, step * 10 * MS, 10 * MS)
        facts.kernel("work", step * 10 * MS + 50_000, dur, launch=(step * 10 * MS, 5_000), kind=kind)
    return facts


@pytest.mark.parametrize(
    ("steps", "dur", "kind_of", "want"),
    [(5, 2 * MS, "copy", ""), (5, 10_000, "compute", ""), (1, 10_000, "compute", "few"), (1, 2 * MS, "copy", "")],
)
def test_marked_steps_are_the_job_however_little_runs_in_them(steps: int, dur: int, kind_of: str, want: str) -> None:
    assert kind(marked(steps, dur, kind_of)) == want


def numbered(every: int, sessions: int = 1) -> Facts:
    facts = kernels(40, 500_000)
    for number in range(600):
        first = 10_000_000 * (number * sessions // 600)
        facts.host("op", "aten::mm", number * 50_000, 10_000, external_id=1 + first + number * every)
    return facts


def test_numbers_that_are_missing_between_sessions_are_no_holes() -> None:
    assert kind(numbered(1, sessions=3)) == ""
    assert kind(numbered(30, sessions=3)) == "thinned"


def test_numbers_of_operators_with_holes_are_those_of_a_thinned_recording() -> None:
    assert kind(numbered(1)) == ""
    assert kind(numbered(19)) == ""
    assert kind(numbered(21)) == "thinned"
    assert kind(numbered(21), reader="ascend") == ""


@pytest.mark.parametrize(("late_ms", "want"), [(300, "first use"), (400, "")])
def test_memory_taken_at_the_first_kernels_is_start_up_however_long_these_take(late_ms: int, want: str) -> None:
    """The first half of the kernels takes 2 s, since memory for them is taken as they are launched."""
    facts, at = Facts(), 0
    for number in range(80):
        took = 25 * MS if number < 40 else late_ms * MS if number == 60 else 0
        if took:
            facts.host("runtime", "cudaMalloc", at, took)
        facts.kernel("gemm", at + took + 20_000, 500_000, launch=(at + took, 5_000))
        at += took + MS
    assert kind(facts) == want
