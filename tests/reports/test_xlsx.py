from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from report_support import HOSTILE, KERNELS, sample_report
from stepscope.model.table import Table
from stepscope.reports import xlsx
from stepscope.reports.report import Report

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl reads the workbooks of these tests")


def book(report: Report, path: Path, **options: int) -> Any:
    xlsx.write(report, path, **options)
    return openpyxl.load_workbook(path)


def test_a_sheet_per_table_with_units_comments_and_exact_values(tmp_path: Path) -> None:
    found = book(sample_report(), tmp_path / "r.xlsx")
    assert found.sheetnames == ["report", "health", "findings", "step_budget", "idle_causes", "kernels"]
    sheet = found["kernels"]
    heading = [cell.value for cell in sheet[1]]
    assert heading[:4] == ["name", "count", "total_ns [ns]", "mean_ns [ns]"]
    assert sheet["C1"].comment.text == "Sum of the durations."
    assert [cell.value for cell in sheet[2]][:4] == ["gemm", 4, 2_000_000, 500_000]
    assert sheet["H2"].number_format == "0.0%"
    assert sheet["C2"].number_format == "#,##0"
    assert sheet.freeze_panes == "B2"
    assert sheet.auto_filter.ref == "A1:I3"
    assert [cell.value for cell in found["step_budget"][4]][:3] == [0, 0, None]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_never_formulas(tmp_path: Path, name: str) -> None:
    found = book(sample_report((name, "add")), tmp_path / "r.xlsx")
    cell = found["kernels"]["A2"]
    if name:
        assert cell.data_type == "s"
        assert len(cell.value) <= xlsx.MAX_CHARACTERS
        assert not set(cell.value) & {"\x1b", "\u202e"}
        assert cell.quotePrefix is name.startswith(("=", "+", "-", "@"))
    if len(name) > xlsx.MAX_CHARACTERS:
        assert cell.value.endswith("… (cut)")


def test_rows_beyond_the_limit_are_said(tmp_path: Path) -> None:
    rows = [(f"k{i}", 1, 1, 1, 1, 1, 1, 0.1, 0) for i in range(10)]
    sheet = book(Report({}, (), (), {"kernels": Table.from_rows(KERNELS, rows)}), tmp_path / "r.xlsx", max_rows=8)[
        "kernels"
    ]
    assert sheet.max_row == 8
    assert sheet["A7"].value == "k5"
    assert sheet["A8"].value == "4 more rows do not fit into a sheet; the JSON report has them"


def test_whole_numbers_that_a_cell_can_not_hold_are_text(tmp_path: Path) -> None:
    row = ("k", 1, 2**53 + 1, 1, 1, 1, 1, 0.1, 0)
    sheet = book(Report({}, (), (), {"kernels": Table.from_rows(KERNELS, [row])}), tmp_path / "r.xlsx")["kernels"]
    assert sheet["C2"].value == str(2**53 + 1)
