"""Steps of several ranks as ranges of one axis: small recordings in, ranges out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from stepscope.web.tiles.common_steps import steps_of
from support import Facts


def timeline(*ranks: list[tuple[int, int, int]], shift: tuple[int, ...]) -> Any:
    """A timeline of ranks with steps of number, start and length, each of one kernel."""
    traces = []
    for rank in ranks:
        facts = Facts()
        for number, start, length in rank:
            facts.step(number, start, length)
            facts.kernel("gemm", start, length)
        traces.append(facts.trace())
    return SimpleNamespace(trace_of=lambda rank: traces[rank], axis=SimpleNamespace(shift=shift))


def test_from_the_first_start_to_the_last_end() -> None:
    found = timeline(
        [(1, 0, 100), (2, 100, 100), (3, 200, 100)], [(1, 0, 120), (2, 120, 120), (3, 240, 120)], shift=(0, 1000)
    )
    assert [(one["step"], one["from"], one["to"]) for one in steps_of(found, [0, 1])][:2] == [
        (1, 0, 1120), (2, 100, 1240),
    ]  # fmt: skip
    assert [(one["from"], one["to"]) for one in steps_of(found, [1])][:2] == [(1000, 1120), (1120, 1240)]


def test_a_step_that_one_of_them_lacks_is_left_out() -> None:
    found = timeline([(1, 0, 100), (2, 100, 100)], [(2, 100, 100), (3, 200, 100)], shift=(0, 0))
    assert [one["step"] for one in steps_of(found, [0, 1])] == [2]
