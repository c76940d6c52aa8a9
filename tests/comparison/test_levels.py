"""Levels of a comparison: collectives, memory, host time; and the workbook."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.result import Comparison
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.reports.compared import workbook
from support import Facts


def job(scale: int = 1, *, memory: bool = True) -> Trace:
    """Two steps of one GEMM whose operator allocates, and an all-reduce."""
    facts = Facts()
    for number in range(2):
        at = 2000 * number
        facts.step(number, at, 2000)
        op = facts.host("op", "=evil::mm", at + 5, 60 * scale)
        facts.kernel("sgemm", at + 200, 300 * scale, launch=(at + 10, 20))
        facts.row("op_inputs", event=op, shapes=f"[[{8 * scale},8]]")
        comm = facts.kernel("ncclDevKernel_AllReduce", at + 1500, 100 * scale, launch=(at + 300, 20))
        facts.row("collectives", event=comm, group="0", collective="all_reduce", bytes=8)
        if memory:
            facts.row("raw_memory", ts=at + 20, device=0, address=1 + number, bytes=1024 * scale, track=0)
    facts.row("raw_memory", ts=3500, device=0, address=1, bytes=-1024 * scale, track=0) if memory else None
    return facts.trace()


@pytest.fixture(scope="module")
def once() -> Trace:
    return job()


@pytest.fixture(scope="module")
def twice() -> Trace:
    return job(2)


@pytest.fixture(scope="module")
def found(once: Trace, twice: Trace) -> Comparison:
    return compare_traces(once, twice, CompareOptions(findings=False))


def test_host_time_collectives_and_memory(found: Comparison) -> None:
    [api] = found.table("api").records()
    assert (api["name"], api["base_ns"], api["new_ns"], api["base_count"]) == ("=evil::mm", 60, 120, 1.0)
    [comm] = found.table("communication").records()
    assert (comm["name"], comm["task"], comm["base_ns"], comm["new_ns"]) == ("all_reduce", None, 100, 200)
    [memory] = found.table("memory").records()
    assert (memory["base_bytes"], memory["new_bytes"], memory["ratio"]) == (1024, 2048, 2.0)


def test_levels_choose_tables(once: Trace, twice: Trace) -> None:
    options = CompareOptions(findings=False, levels=("operators", "kernels"), details=False, shapes=True)
    found = compare_traces(once, twice, options)
    assert set(found.tables) == {
        "step_figures", "steps_left_out", "step_parts", "compute_operators", "kernel_types", "times_per_call",
    }  # fmt: skip
    names = {row["operator"] for row in found.table("compute_operators").records()}
    assert names == {"=evil::mm [[8,8]]", "=evil::mm [[16,8]]"}
    with pytest.raises(UserError, match="no level 'operator'; did you mean operators"):
        compare_traces(once, once, CompareOptions(levels=("operator",)))


def test_what_one_side_lacks_is_said(once: Trace) -> None:
    found = compare_traces(once, job(memory=False), CompareOptions(findings=False))
    assert "memory" not in found.tables
    assert [(one.table, one.side) for one in found.lacking] == [("memory", "new"), ("memory_peak", "new")]


def held(size: int) -> Trace:
    """Allocations alone, as a memory snapshot has them."""
    facts = Facts()
    facts.row("raw_memory", ts=20, device=0, address=1, bytes=size, track=0)
    return facts.trace()


def test_without_times_memory_is_compared_and_what_both_lack_is_said_once() -> None:
    base = held(1024)
    same = compare_traces(base, base, CompareOptions(findings=False))
    assert (same.verdict, same.step_time.reason) == ("same", "no times are recorded, and all other figures are equal")
    found = compare_traces(base, held(2048), CompareOptions(findings=False))
    assert found.verdict == "inconclusive"
    assert {one.side for one in found.lacking} == {"both"}
    assert len({one.table for one in found.lacking}) == len(found.lacking) > 1
    # Recordings of this kind never hold these inputs: the page has nothing to advise.
    assert not any(one.applies for one in found.lacking)


def test_the_workbook(found: Comparison, tmp_path: Path) -> None:
    workbook.write(found, tmp_path / "compare.xlsx")
    book = openpyxl.load_workbook(tmp_path / "compare.xlsx")
    assert book.sheetnames == [
        "Summary", "OverallMetrics", "OperatorCompareStatistic", "OperatorCompare", "MemoryCompareStatistic",
        "MemoryCompare", "CommunicationCompare", "ApiCompare", "KernelCompare", "KernelTypeCompare",
        "KernelOperatorCompare",
    ]  # fmt: skip
    sheet = book["ApiCompare"]
    heads = [cell.value for cell in sheet[3]]
    assert heads[:4] == ["Order Id", "api name", "Total Duration(ms)", "Self Time(ms)"]
    assert sheet["B4"].value == "=evil::mm"
    assert sheet["B4"].data_type == "s"
    assert sheet.cell(4, heads.index("Diff Ratio") + 1).value == 2
    assert sheet.auto_filter.ref
    assert len(sheet.conditional_formatting) == 4
    sheet = book["KernelCompare"]
    assert [cell.value for cell in sheet[5]][1:7] == ["sgemm", "[[8,8]]", 0.3, 0.3, 0.3, 0.3]


def test_sheet_of_modules(tmp_path: Path) -> None:
    facts = Facts()
    facts.step(0, 0, 2000)
    facts.host("module", "nn.Module: Net_0", 0, 900)
    facts.host("module", "nn.Module: Linear_0", 100, 300)
    facts.host("op", "aten::mm", 150, 100)
    facts.kernel("sgemm", 600, 300, launch=(160, 20))
    facts.kernel("gelu", 900, 100, launch=(500, 20))
    trace = facts.trace()
    workbook.write(compare_traces(trace, trace, CompareOptions(findings=False)), tmp_path / "compare.xlsx")
    rows = [[cell.value for cell in row] for row in openpyxl.load_workbook(tmp_path / "compare.xlsx")["ModuleCompare"]]
    assert rows[2][1:6] == ["Module Class", "Module Level", "Module Name", "Operator Name", "Kernel Details"]
    assert [row[1:7] for row in rows[3:7]] == [
        ["Net", 0, "Net_0", "[ TOTAL ]", "", 0.1],
        ["Net", 0, "Net_0", "", "gelu, [number: 1], [duration_us: 0.100]", 0.1],
        ["Linear", 1, "Net_0 / Linear_0", "[ TOTAL ]", "", 0.3],
        ["Linear", 1, "Net_0 / Linear_0", "aten::mm", "sgemm, [number: 1], [duration_us: 0.300]", 0.3],
    ]


def test_kernels_of_an_operator_are_lines_of_a_cell(tmp_path: Path) -> None:
    facts = Facts()
    facts.step(0, 0, 2000)
    facts.host("op", "aten::mm", 150, 100)
    facts.kernel("sgemm", 600, 300, launch=(160, 20))
    facts.kernel("reduce", 900, 100, launch=(190, 20))
    trace = facts.trace()
    workbook.write(compare_traces(trace, trace, CompareOptions(findings=False)), tmp_path / "compare.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "compare.xlsx")["OperatorCompare"]
    [cell] = (sheet.cell(4, head.column) for head in sheet[3][:8] if head.value == "Kernel Details")
    assert [line.split(",")[0] for line in cell.value.split("\n")] == ["sgemm", "reduce"]
    assert cell.alignment.wrap_text


def test_memory_without_steps_and_devices() -> None:
    def held(size: int) -> Trace:
        facts = Facts()
        facts.host("op", "aten::empty", 0, 100)
        facts.row("raw_memory", ts=10, device=0, address=1, bytes=size, track=0)
        return facts.trace()

    base = held(1000)
    found = compare_traces(base, held(1500), CompareOptions(findings=False))
    assert (found.verdict, found.parts) == ("inconclusive", ())
    assert [(one.name, one.base, one.new) for one in found.metrics] == [("peak_memory", 1000, 1500)]
    [row] = found.table("memory").records()
    assert (row["name"], row["diff_bytes"]) == ("aten::empty", 500)
    same = compare_traces(base, base, CompareOptions(findings=False))
    assert same.metrics[0].diff == 0


def test_the_backward_pass_of_modules() -> None:
    def trained(gemm: int) -> Trace:
        facts = Facts()
        facts.step(0, 0, 2000)
        facts.host("module", "Net_0", 0, 200)
        facts.host("module", "Linear_0", 20, 100)
        facts.host("op", "aten::addmm", 30, 50)
        facts.host("op", "AddmmBackward0", 310, 80, thread="2")
        facts.host("op", "aten::mm", 320, 50, thread="2")
        facts.kernel("gemm", 400, gemm, launch=(330, 5), thread="2")
        facts.host("op", "Other", 1000, 100, thread="2")
        facts.kernel("other", 1100, 5, launch=(1010, 5), thread="2")
        for thread, ts, is_source in (("1", 30, True), ("2", 310, False)):
            track = facts.staging.track("host", process="1", thread=thread)
            facts.row("raw_flows", kind="forward_backward", key="1", is_source=is_source, ts=ts, track=track)
        return facts.trace()

    found = compare_traces(trained(70), trained(90), CompareOptions(findings=False, levels=("modules",)))
    rows = {row["base_path"]: row for row in found.table("compute_modules").records()}
    assert {path: (row["base_backward_ns"], row["new_backward_ns"]) for path, row in rows.items()} == {
        "Net_0": (70, 90), "Net_0 / Linear_0": (70, 90), None: (0, 0),
    }  # fmt: skip
    assert (rows[None]["base_ns"], rows[None]["new_ns"]) == (75, 95)
