"""Times of one call, which compare where steps do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.noise.ratio import MeasuredSums, ratio_of_measured
from stepscope.model.trace import Trace
from stepscope.reports.blocks import Grid
from stepscope.reports.compared.outline import outline
from support import Facts


def calls(number: int, each: int, steps: bool = True, width: int = 8, kernel: str = "sgemm") -> Trace:
    """Calls of a linear layer with a kernel each, in a step or in none."""
    facts = Facts()
    if steps:
        facts.step(0, 0, 1000 * number)
    for i in range(number):
        op = facts.host("op", "aten::linear", 1000 * i, 50)
        facts.row("op_inputs", event=op, shapes=json.dumps([[2, width]]), dtypes='["float"]')
        facts.kernel(kernel, 1000 * i + 60, each, launch=(1000 * i + 5, 5))
    return facts.trace(source=f"{number} {each} {steps} {width} {kernel}")


def told(base: Trace, new: Trace, **options: Any) -> dict[tuple[str, str], dict[str, Any]]:
    found = compare_traces(base, new, CompareOptions(findings=False, **options))
    return {(row["kind"], row["name"]): row for row in found.table("times_per_call").records()}


def test_steps_beside_a_recording_without_steps_compare_call_by_call() -> None:
    rows = told(calls(6, 100), calls(20, 150, steps=False))
    for key in (("operator", "aten::linear"), ("kernel", "sgemm")):
        row = rows[key]
        assert (row["base_calls"], row["new_calls"], row["base_ns"], row["new_ns"]) == (6, 20, 100, 150)
        assert (row["ratio"], row["low"], row["high"], row["sure"]) == (1.5, 1.5, 1.5, True)
    assert (rows["operator", "aten::linear"]["shapes"], rows["kernel", "sgemm"]["shapes"]) == ("equal", None)
    assert rows["operator", "aten::linear"]["base_host_ns"] == 50


def test_other_shapes_and_other_kernels_leave_the_operator() -> None:
    rows = told(calls(6, 100), calls(6, 150, width=16, kernel="hgemm"))
    assert {key: row["shapes"] for key, row in rows.items()} == {("operator", "aten::linear"): "differ"}
    mapped = told(calls(6, 100), calls(6, 150, kernel="hgemm"), names={"sgemm": "hgemm"})
    assert mapped["kernel", "sgemm"]["ratio"] == 1.5


def test_the_page_has_them_where_the_sides_are_unlike() -> None:
    def grids(new: Trace) -> list[str]:
        found = compare_traces(calls(6, 100), new, CompareOptions(findings=False))
        blocks = [block for section in outline(found).sections for block in section.blocks]
        return [" ".join(one.rows[0]) for one in blocks if isinstance(one, Grid) and one.table == "times_per_call"]

    assert grids(calls(6, 150)) == []
    assert grids(calls(6, 150, steps=False)) == [
        "aten::linear 100 150 1.50 1.50 to 1.50 equal 6 6", "sgemm 100 150 1.50 1.50 to 1.50 – 6 6"
    ]  # fmt: skip


def test_shapes_are_equal_however_they_are_written() -> None:
    def trace(shapes: str) -> Trace:
        facts = Facts()
        facts.step(0, 0, 100)
        op = facts.host("op", "aten::linear", 0, 50)
        facts.row("op_inputs", event=op, shapes=shapes, dtypes="[]")
        facts.kernel("sgemm", 60, 10, launch=(5, 5))
        return facts.trace(source=shapes)

    rows = told(trace("[[2, 8], [8, 4], []]"), trace("2,8;8,4;"))
    assert rows["operator", "aten::linear"]["shapes"] == "equal"
    assert told(trace("[[2, 8]]"), trace("2,9"))["operator", "aten::linear"]["shapes"] == "differ"


@pytest.mark.parametrize(
    ("base", "new", "half"),
    [
        (MeasuredSums(1, 100, 100.0**2), MeasuredSums(1, 200, 200.0**2), 0.364),  # both are taken to vary by a tenth
        (MeasuredSums(8, 800, 8 * 100.0**2), MeasuredSums(8, 1600, 8 * 200.0**2), 0.0),
        (MeasuredSums(8, 800, 8 * 100.0**2 + 8 * 10.0**2), MeasuredSums(8, 1600, 8 * 200.0**2), 0.132),
    ],
)
def test_intervals_rest_on_the_spread_of_calls(base: MeasuredSums, new: MeasuredSums, half: float) -> None:
    found = ratio_of_measured(base, new)
    assert found.ratio == pytest.approx(2)
    assert (found.high - found.low) / 4 == pytest.approx(half, abs=0.02)
