from __future__ import annotations

import math

import pytest

from stepscope.model.schema import Column, fraction, ns, size, text
from stepscope.reports.sections.tables import grid_of
from stepscope.reports.units import duration, percent, quantity, scale, time_scale


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (12_345, "12.3 µs"),
        (123_456, "123 µs"),
        (1_234_567, "1.23 ms"),
        (99_949_999, "99.9 ms"),
        (99_950_000, "100 ms"),
        (61_000_000_000, "61.0 s"),
        (-1_500_000, "-1.50 ms"),
    ],
)
def test_duration_keeps_three_digits(value: int, shown: str) -> None:
    assert duration(value) == shown


def test_quantities_have_the_unit_of_their_column() -> None:
    assert quantity(3 * 2**30, "bytes") == "3.00 GiB"
    assert quantity(2.5e9, "bytes/s") == "2.50 GB/s"
    assert quantity(989e12, "FLOP/s") == "989 TFLOP/s"
    assert quantity(None, "ns") == quantity(math.nan, "ns") == quantity(math.inf, "bytes") == "–"
    assert (percent(0.1234), percent(None)) == ("12.3 %", "–")


def test_a_column_has_one_unit() -> None:
    values = [123_456_789, 1_000, None]
    one = scale(ns("total_ns", ""), values)
    assert (one.label, [one.write(v) for v in values]) == ("ms", ["123.46", "0.00", "–"])
    assert scale(fraction("share", ""), [0.5]).write(0.5) == "50.0"
    assert scale(size("bytes", ""), [2048]).write(2048) == "2.00 KiB"
    assert scale(Column("grid", "int32[]", "", "", True), [[1, 2, 3]]).write([1, 2, 3]) == "1 × 2 × 3"
    assert scale(text("name", ""), ["a\n"]).write("a\n") == "a\\n"
    assert scale(Column("rank", "int32", ""), [12345]).write(12345) == "12345"


def test_single_times_keep_the_digits_of_the_smallest() -> None:
    assert time_scale([5_000_000, 2_500], by_smallest=True).label == "µs"
    assert time_scale([50_000_000, 20_000_000], by_smallest=True).label == "ms"
    assert time_scale([300, 20_000_000], by_smallest=True).label == "µs"
    assert time_scale([None, 0]).label == "ns"


def test_a_column_far_below_the_others_has_its_own_unit() -> None:
    columns = (ns("self_device_ns", ""), ns("self_ns", ""), ns("total_ns", ""))
    rows = [{"self_device_ns": 55_000_000, "self_ns": 11_920_000_000, "total_ns": 30_010_000_000}]
    grid = grid_of(rows, columns, "", 10, "operators")
    assert [heading.text for heading in grid.headings] == ["self device ms", "self host s", "total s"]
    assert grid.rows[0] == ("55.00", "11.92", "30.01")
    near = grid_of(
        [{"self_device_ns": 100_000_000, "self_ns": 0, "total_ns": 30_010_000_000}], columns, "", 10, "operators"
    )
    assert [heading.text for heading in near.headings] == ["self device s", "self host s", "total s"]
