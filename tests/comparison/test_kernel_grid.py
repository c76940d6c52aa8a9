"""The page's table of kernels, and how its cells are written."""

from __future__ import annotations

from typing import Any

from stepscope.reports.compared.cells import ratio_words, signed
from stepscope.reports.compared.kernel_grid import kernel_grid


def kernel(operator: str, name: str, base_ns: int, new_ns: int) -> dict[str, Any]:
    counts = {"base_count": float(base_ns > 0), "new_count": float(new_ns > 0)}
    return {"operator": operator, "kernel": name, "base_ns": base_ns, "new_ns": new_ns, **counts}


def names(listed: list[dict[str, Any]], top: int = 10) -> list[str]:
    return [str(row[0]) for row in kernel_grid(listed, top).rows]


def test_variants_of_a_template_are_one_kernel() -> None:
    listed = [
        kernel("aten::mul", "void gate_kernel<float, 4>(int)", 300, 0),
        kernel("aten::mul", "void gate_kernel<float, 8>(int)", 0, 500),
        kernel("aten::add", "void sum_kernel<float>(int)", 10, 0),
    ]
    grid = kernel_grid(listed, 10)
    assert [(row[0], row[4]) for row in grid.rows] == [("gate_kernel", "1.67"), ("sum_kernel", "gone")]
    assert grid.headings[0].text == "kernel"


def test_kernels_of_different_vendors_stand_below_their_operator() -> None:
    listed = [
        kernel("aten::mm", "sm90_gemm", 700, 0), kernel("aten::mm", "Cijk_gemm", 0, 900),
        kernel("aten::add", "sum_kernel", 100, 150),
    ]  # fmt: skip
    assert names(listed) == ["aten::mm", "  Cijk_gemm", "  sm90_gemm", "aten::add / sum_kernel"]
    grid = kernel_grid(listed, 1)
    assert (len(grid.rows), grid.hidden) == (3, 1)
    assert [row[1] for row in grid.rows] == ["700", "–", "700"]


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert [signed(one) for one in ("-0.00", "0.0 %", "0.04", "-1.20", "12 MiB")] == [
        "0.00", "0.0 %", "+0.04", "-1.20", "+12 MiB",
    ]  # fmt: skip
    assert [ratio_words(*one) for one in ((0, 5), (5, 0), (0, 0), (2, 3))] == ["new", "0.00", "–", "1.50"]
    assert ratio_words(5, 0, (True, False)) == "gone"
