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


def small(kernel_ns: int) -> Trace:
    """A step of 30 ms whose kernel takes microseconds."""
    facts = Facts()
    facts.step(0, 0, 30_000_000)
    facts.kernel("sgemm", 20, kernel_ns, launch=(5, 10))
    facts.kernel("sgemm", 29_000_000, kernel_ns, launch=(28_000_000, 10))
    return facts.trace(source=str(kernel_ns))


def test_level_overall_has_one_unit() -> None:
    def units(levels: tuple[str, ...]) -> set[str]:
        found = compare_traces(small(30_000), small(40_000), CompareOptions(findings=False, levels=levels))
        grids = [
            block for one in outline(found, 10, levels).sections for block in one.blocks if isinstance(block, Grid)
        ]
        return {
            heading.text.split()[1] for grid in grids for heading in grid.headings if heading.text.startswith("base ")
        }

    assert units(("overall",)) == {"ms"}
    assert units(()) == {"ms", "µs"}


def test_pages_do_without_tables_that_they_do_not_show() -> None:
    sides = trace(300), trace(200, gather=True)
    page = compare_traces(*sides, CompareOptions(findings=False, pages=True))
    whole = compare_traces(*sides, CompareOptions(findings=False))
    assert {"compute_calls", "kernel_types", "overall"} <= set(whole.tables) - set(page.tables)
    assert outline(page, 10, ()) == outline(whole, 10, ())
    assert "overall" in compare_traces(*sides, CompareOptions(levels=("overall",), pages=True)).tables


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
