from __future__ import annotations

from report_support import KERNELS
from stepscope.analyses.kernels.roofline import ROOFLINE
from stepscope.model.table import Table
from stepscope.reports.rollup import rollup


def test_ranks_are_put_together() -> None:
    rows = [
        ("a", 2, 100, 50, 40, 10, 90, 0.5, 0),
        ("b", 1, 300, 300, 300, 300, 300, 0.5, 0),
        ("a", 3, 500, 166, 160, 5, 300, 1.0, 1),
    ]
    found = rollup(Table.from_rows(KERNELS, rows), ("name",))
    assert [row["name"] for row in found] == ["a", "b"]
    a = found[0]
    assert (a["count"], a["total_ns"], a["mean_ns"], a["min_ns"], a["max_ns"]) == (5, 600, 120, 5, 300)
    assert a["median_ns"] is None
    assert a["share"] == 600 / 900
    assert found[1]["median_ns"] == 300
    assert found[1]["share"] == 300 / 900


def test_shares_of_one_rank_stay_as_they_are() -> None:
    rows = [("a", 2, 100, 50, 40, 10, 90, 0.25, 3), ("b", 1, 100, 100, 100, 100, 100, 0.25, 3)]
    assert [row["share"] for row in rollup(Table.from_rows(KERNELS, rows), ("name",))] == [0.25, 0.25]


def test_no_rows_and_no_keys() -> None:
    assert rollup(Table.empty(KERNELS), ("name",)) == []
    assert len(rollup(Table.from_rows(KERNELS, [("a", 1, 1, 1, 1, 1, 1, 1.0, 0)]), ("nothing",))) == 1


def test_numbers_beyond_the_integers_are_added() -> None:
    row = [{"string": "a", "float64": 1.5e20}.get(column.type, 1) for column in ROOFLINE.columns]
    [both] = rollup(Table.from_rows(ROOFLINE, [row, row]), ("name", "dtype"))
    assert both["flops"] == 3e20
