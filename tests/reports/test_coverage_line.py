"""The first line on jobs whose ranks take different times."""

from __future__ import annotations

import pytest

from stepscope.reports.sections.coverage import _slowest


@pytest.mark.parametrize(
    ("longest", "said"),
    [(1_300_000, ", 1.25 ms on rank 7"), (1_000_000, "")],
)
def test_the_slowest_rank_is_named_where_it_is_clearly_slower(longest: int, said: str) -> None:
    rows = [{"rank": 4, "total_ns": 1_000_000}, {"rank": 7, "total_ns": longest}, {"rank": 7, "total_ns": 1_200_000}]
    if not said:
        rows[2]["total_ns"] = 1_000_000
    assert _slowest(rows, sum(row["total_ns"] for row in rows) // 3) == said
