"""The first column of a table of the report stands below its caption, without a heading of its own."""

from __future__ import annotations

from stepscope.analyses.registry import analyses
from stepscope.model.table import Table
from stepscope.reports.lines.grid import grid_lines
from stepscope.reports.report import Report
from stepscope.reports.sections.tables import memory


def test_memory_by_step_begins_with_the_step() -> None:
    schema = analyses()["memory_steps"].schema
    peaks = ((0, 5, 2), (1, 5, 3), (0, 6, 2), (1, 6, 4))
    rows = [(0, device, step, 0, False, 0, peak << 30, 0, 1) for device, step, peak in peaks]
    table = Table.from_rows(schema, rows)
    [grid] = memory(Report({}, (), (), {"memory_steps": table}), 10).blocks
    assert [line.plain.split() for line in grid_lines(grid, 80, False)] == [
        ["Memory", "by", "step", "device", "peak"],
        ["5", "0", "2.00", "GiB"],
        ["5", "1", "3.00", "GiB"],
        ["6", "0", "2.00", "GiB"],
        ["6", "1", "4.00", "GiB"],
    ]
