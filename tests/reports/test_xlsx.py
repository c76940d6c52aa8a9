from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from report_support import HOSTILE, KERNELS, sample_report
from stepscope import demo
from stepscope.ingest import Options, open_trace
from stepscope.language import speaking
from stepscope.model.schema import Column, TableSchema
from stepscope.model.table import Table
from stepscope.reports import xlsx
from stepscope.reports.build import build_report
from stepscope.reports.report import Report
from stepscope.reports.selection import ReportOptions

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl reads the workbooks of these tests")


def book(report: Report, path: Path, **options: int) -> Any:
    xlsx.write(report, path, **options)
    return openpyxl.load_workbook(path)


def test_a_sheet_per_table_with_units_comments_and_exact_values(tmp_path: Path) -> None:
    found = book(sample_report(), tmp_path / "r.xlsx")
    assert found.sheetnames == ["report", "health", "findings", "step_budget", "idle_causes", "kernels"]
    sheet = found["kernels"]
    heading = [cell.value for cell in sheet[1]]
    assert heading[:6] == ["name", "count", "total_ns", "total [ms]", "mean_ns", "mean [µs]"]
    assert len(set(heading)) == len(heading)
    assert sheet["C1"].comment.text == sheet["D1"].comment.text == "Sum of the durations."
    assert [cell.value for cell in sheet[2]][:6] == ["gemm", 4, 2_000_000, 2, 500_000, 500]
    assert sheet.cell(2, heading.index("share") + 1).number_format == "0.0%"
    assert sheet["C2"].number_format == "#,##0"
    assert sheet.freeze_panes == "B2"
    assert sheet.auto_filter.ref == f"A1:{sheet.cell(1, len(heading)).column_letter}3"
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


def test_the_first_sheet_has_the_figures_a_chart_and_the_way_to_all_others(tmp_path: Path) -> None:
    report = sample_report()
    found = book(report, tmp_path / "r.xlsx")
    front = found["report"]
    links = {cell.hyperlink.location: cell.value for row in front for cell in row if cell.hyperlink}
    assert links == {f"'{name}'!A1": name for name in found.sheetnames if name != "report"}
    texts = {cell.value for row in front for cell in row}
    assert {f"{finding.code}  {finding.title}" for finding in report.findings} <= texts
    assert {"Findings", "Sheets", "idle [ms]", "step [ms]"} <= texts
    assert len(front._charts) == 1


def test_tables_without_rows_are_named_but_have_no_sheet(tmp_path: Path) -> None:
    row = ("k", 1, 1, 1, 1, 1, 1, 0.1, 0)
    tables = {"kernels": Table.from_rows(KERNELS, [row]), "operators": Table.from_rows(KERNELS, [])}
    found = book(Report({}, (), (), tables), tmp_path / "r.xlsx")
    assert "kernels" in found.sheetnames
    assert "operators" not in found.sheetnames
    texts = [cell.value for row in found["report"] for cell in row if cell.value]
    assert texts[-2:] == ["Tables without rows", "operators"]


def test_findings_are_wrapped(tmp_path: Path) -> None:
    sheet = book(sample_report(), tmp_path / "r.xlsx")["findings"]
    heading = [cell.value for cell in sheet[1]]
    cell = sheet.cell(2, heading.index("summary") + 1)
    assert cell.alignment.wrap_text
    assert sheet.column_dimensions[cell.column_letter].width >= 60


def test_each_thing_to_do_is_a_line_of_its_cell(tmp_path: Path) -> None:
    with demo.recording() as path, open_trace(path, Options(cache=False)) as trace:
        report = build_report(trace, ReportOptions())
        sheet = book(report, tmp_path / "r.xlsx")["findings"]
    [at] = (cell.column for cell in sheet[1] if cell.value == "what to do")
    [finding] = (finding for finding in report.findings if finding.code == "DAT001")
    assert len(finding.actions) > 1
    assert sheet.cell(2, at).value.split("\n") == [action.text for action in finding.actions]


def test_sizes_stand_beside_what_people_read(tmp_path: Path) -> None:
    schema = TableSchema("sizes", "Sizes.", (Column("peak_bytes", "int64", "A size.", "bytes", True),))
    table = Table.from_rows(schema, [(3 << 30,), (None,)])
    sheet = book(Report({}, (), (), {"sizes": table}), tmp_path / "r.xlsx")["sizes"]
    assert [cell.value for cell in sheet[1]] == ["peak_bytes", "peak [GiB]"]
    assert [cell.value for cell in sheet[2]] == [3 << 30, 3]
    assert [cell.value for cell in sheet[3]] == [None, None]


def test_health_and_severity_are_told_in_the_language_that_is_spoken(tmp_path: Path) -> None:
    with (
        speaking("zh"), demo.recording() as path, open_trace(path, Options(cache=False)) as trace
    ):  # fmt: skip
        report = build_report(trace, ReportOptions(all_findings=True))
        found = book(report, tmp_path / "r.xlsx")
    rows = [[cell.value for cell in row] for row in found["health"].iter_rows(min_row=2)]
    assert {row[0] for row in rows} <= {"错误", "警告", "信息"}
    messages = [row[4] for row in rows]
    assert "个事件已读取" in messages
    assert [one for one in messages if re.search(r"(?<![\w.])[a-z]+(?: [a-z]+){2}", one)] == []
    assert {row[1].value for row in found["findings"].iter_rows(min_row=2)} <= {"高", "中", "低", "建议"}
    assert all(line.severity in ("error", "warning", "info") for line in report.health)
