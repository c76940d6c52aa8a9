"""Grids as lines: what is left out where room is short."""

from __future__ import annotations

from stepscope.reports.blocks import Grid, Heading
from stepscope.reports.lines.grid import grid_lines

SHAPES = "[[32,3,224,224],[64,3,7,7],[],[],[]]"


def lines(grid: Grid, width: int) -> list[str]:
    return [line.plain for line in grid_lines(grid, width, ascii_only=False)]


def test_long_texts_leave_room_for_numbers() -> None:
    headings = (Heading("name", False), Heading("shapes", False), Heading("dtypes", False), Heading("count"))
    grid = Grid(headings, (("aten::convolution", SHAPES, '["float","float","","",""]', "64"),), whole=True)
    head, row = lines(grid, 64)
    assert head.split() == ["name", "shapes", "dtypes", "count"]
    assert row.split() == ["aten::convolution", "[[32,3,224,2…", '["float","fl…', "64"]
    assert SHAPES in lines(grid, 100)[1]


def test_a_caption_that_is_cut_has_a_line_of_its_own() -> None:
    caption = "Calls of the runtime, by the profiler's own totals"
    grid = Grid((Heading("name", False), Heading("total ms")), (("launch", "1.00"),), caption)
    assert lines(grid, 70) == [f" {caption}  total ms", f" {'launch':<50}      1.00"]
    assert lines(grid, 40) == [f" {caption}", f"{'total ms':>40}", f" launch{'1.00':>33}"]
