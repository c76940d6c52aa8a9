"""The rows that users of the Ascend compare tool know."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from stepscope.comparison.parts.kernel_categories import category_of
from stepscope.comparison.parts.overall import overall_sums, overall_table
from stepscope.comparison.side import side_of
from stepscope.model.trace import Trace
from support import Facts, recorded_trace, shared

#: What that tool gets wrong, or does not know, see docs/compare.md.
DIFFERENT = {"SDMA", "Free"}


def records(base: Trace, new: Trace) -> dict[str, dict[str, Any]]:
    table = overall_table(overall_sums(side_of(base, base.ranks[0])), overall_sums(side_of(new, new.ranks[0])))
    return {row["index"]: row for row in table.records()}


def test_numbers_of_the_compare_tool() -> None:
    expected = shared("ascend", "expected_compare_level1_rank1_over_rank0", "OverallMetrics.csv")
    job = recorded_trace("ascend", "alexnet_ddp_level1_text")
    found = records(job.rank(0), job.rank(1))
    with expected.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[3:]
    known = {row[0].strip(): row for row in rows}
    assert set(known) <= set(found)
    assert set(found) - set(known) == {"SDMA"}
    for name in set(known) - DIFFERENT:
        row, [_, base, share, number, new, _, new_number, _, ratio] = found[name], known[name]
        assert row["base_ns"] / 1e6 == pytest.approx(float(base), abs=2e-5), name
        assert row["new_ns"] / 1e6 == pytest.approx(float(new), abs=3e-5), name
        assert row["base_share"] == pytest.approx(float(share), abs=1e-6), name
        if name != "Other":
            assert round(row["ratio"], 4) == pytest.approx(float(ratio), abs=1.1e-4), name
        if number != "/":
            assert (row["base_count"], row["new_count"]) == (int(number), int(new_number)), name


def test_rows_add_up() -> None:
    facts = Facts()
    facts.step(0, 0, 2000)
    facts.host("op", "aten::conv2d", 0, 100)
    facts.host("op", "aten::_convolution", 5, 80)
    facts.kernel("implicit_convolve_sgemm", 100, 300, launch=(10, 10))
    facts.kernel("vectorized_elementwise_kernel", 400, 100, launch=(30, 10))
    facts.host("op", "aten::add", 110, 50)
    facts.kernel("vectorized_elementwise_kernel", 600, 50, launch=(120, 10))
    facts.kernel("ncclDevKernel_AllReduce", 620, 100, launch=(170, 10))
    facts.kernel("Memcpy DtoH", 800, 50, launch=(190, 10), kind="copy")
    facts.kernel("sgemm", 900, 100, launch=(300, 10))
    trace = facts.trace()
    found = {name: (row["base_ns"], row["base_count"]) for name, row in records(trace, trace).items()}
    assert found["Computing Time"] == (550, 4)
    assert (found["Conv (Forward) (Cube)"], found["Conv (Forward) (Vector)"]) == ((300, 1), (100, 1))
    assert (found["Cube"], found["Vector (No Trans)"]) == ((100, 1), (50, 1))
    assert (found["Uncovered Communication Time"][0], found["Free Time"][0], found["E2E Time"][0]) == (70, 280, 900)
    assert (found["SDMA"][0], found["Free"][0]) == (50, 230)


def test_groups_that_communicate_at_once() -> None:
    facts = Facts()
    facts.step(0, 0, 2000)
    facts.kernel("sgemm", 100, 200, launch=(10, 10))
    for number, (at, group) in enumerate([(200, "data"), (500, "tensor"), (550, "data")]):
        kernel = facts.kernel("ncclDevKernel", at, 200, launch=(20 + number, 1), stream=str(8 + number))
        facts.row("collectives", event=kernel, group=group, collective="all_reduce", bytes=8)
    trace = facts.trace()
    found = {name: row["base_ns"] for name, row in records(trace, trace).items()}
    assert found["Uncovered Communication Time"] == 350
    assert (found["Group 0 Communication"], found["Group 1 Communication"]) == (300, 200)
    assert found["Uncovered Communication Overlapped"] == 150


@pytest.mark.parametrize(
    ("kernel", "operator", "op_type", "key"),
    [
        ("pagedattentionkernel", None, "pagedattentionmaskndkernel", ("Page Attention", "")),
        ("allgathermatmul_1", None, "allgathermatmul", ("MC2", "")),
        ("x", None, "flashattentionscore", ("Flash Attention (Forward)", "Cube")),
        ("x", None, "flashattentionscoregrad", ("Flash Attention (Backward)", "Cube")),
        ("x", None, "conv2dbackpropfilter", ("Conv (Backward)", "Cube")),
        ("x", None, "matmulv2", ("Matmul", "Cube")),
        ("x", ("Conv", True), "matmulv2", ("Conv (Backward)", "Vector")),
        ("x", None, "", ("Vector", "No Trans")),
    ],
)
def test_categories_of_kernels(
    kernel: str, operator: tuple[str, bool] | None, op_type: str, key: tuple[str, str]
) -> None:
    assert category_of(kernel, cube=False, operator=operator, op_type=op_type) == ("kernels", *key)
