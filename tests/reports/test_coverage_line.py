"""The first line on jobs whose ranks take different times."""

from __future__ import annotations

import pytest

from stepscope.reports.sections.coverage import _left_out, _slowest


@pytest.mark.parametrize(
    ("longest", "said"),
    [(1_300_000, ", 1.25 ms on rank 7"), (1_000_000, "")],
)
def test_the_slowest_rank_is_named_where_it_is_clearly_slower(longest: int, said: str) -> None:
    rows = [{"rank": 4, "total_ns": 1_000_000}, {"rank": 7, "total_ns": longest}, {"rank": 7, "total_ns": 1_200_000}]
    if not said:
        rows[2]["total_ns"] = 1_000_000
    assert _slowest(rows, sum(row["total_ns"] for row in rows) // 3) == said


@pytest.mark.parametrize(("total", "told"), [(100, ["3 steps not counted (warm-up) 100 ns"]), (99, [])])
def test_steps_that_are_not_typical_are_told_of_a_host_alone(total: int, told: list[str]) -> None:
    """Of 1 µs recorded."""
    rows = [{"part": "typical", "count": 5, "total_ns": 800}, {"part": "warm-up", "count": 3, "total_ns": total}]
    assert list(_left_out([*rows, {"part": "after", "count": 0, "total_ns": 500}], 1_000)) == told
