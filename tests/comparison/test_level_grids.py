"""What a page shows of the levels that were asked for."""

from __future__ import annotations

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.result import Comparison
from stepscope.model.trace import Trace
from stepscope.reports.blocks import Grid
from stepscope.reports.compared.level_grids import communication_grid
from stepscope.reports.compared.outline import outline
from support import Facts


def trace(reduce_ns: int, *, gather: bool = False) -> Trace:
    facts = Facts()
    facts.step(0, 0, 1000)
    facts.host("op", "aten::mm", 0, 90)
    facts.kernel("sgemm", 20, 100, launch=(5, 10))
    facts.row("raw_memory", ts=10, device=0, address=1, bytes=1000, track=0)
    facts.kernel("ncclDevKernel_AllReduce_Sum_f32", 200, reduce_ns, launch=(100, 10), stream=2)
    if gather:
        facts.kernel("ncclDevKernel_AllGather_f32", 600, 50, launch=(130, 10), stream=2)
    return facts.trace(source=str(reduce_ns))


def compared(levels: tuple[str, ...] = ()) -> Comparison:
    return compare_traces(trace(300), trace(200, gather=True), CompareOptions(findings=False, levels=levels))


def tables(found: Comparison, levels: tuple[str, ...]) -> list[str]:
    blocks = [block for section in outline(found, 10, levels).sections for block in section.blocks]
    return [block.table for block in blocks if isinstance(block, Grid)]


def test_levels_asked_for_are_on_the_page() -> None:
    found = compared()
    asked = ("overall", "memory", "api")
    assert set(tables(found, asked)) - set(tables(found, ())) == {"overall", "memory", "api"}
    assert "communication" in tables(found, ())
    assert "communication" not in tables(compared(("api",)), ("api",))


def test_collectives_beside_each_other() -> None:
    found = compared()
    [grid] = communication_grid(found, 10)
    assert isinstance(grid, Grid)
    assert [(row[0], row[1], row[2], row[4], row[5]) for row in grid.rows] == [
        ("all_reduce", "300", "200", "0.67", "-33.3 %"), ("all_gather", "–", "50", "new", "+16.7 %"),
    ]  # fmt: skip
    [short] = communication_grid(found, 1)
    assert isinstance(short, Grid)
    assert (len(short.rows), short.hidden) == (1, 1)
