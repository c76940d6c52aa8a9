"""The sheets of the Ascend compare tool for two ranks of a recorded job, beside the tables that take their place."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.result import Comparison
from support import recorded_trace, shared

#: PyTorch numbers modules.
NUMBERED = re.compile(r"_\d+$")


@pytest.fixture(scope="module")
def found() -> Comparison:
    trace = recorded_trace("ascend", "alexnet_ddp_level1_text")
    levels = ("modules", "communication", "memory", "kernels", "api")
    return compare_traces(trace, trace, CompareOptions(base_rank=0, rank=1, findings=False, levels=levels))


def sheet(name: str) -> Iterator[list[str]]:
    """Rows of a sheet of that tool, without its headings."""
    with shared("ascend", "expected_compare_level1_rank1_over_rank0", f"{name}.csv").open(encoding="utf-8") as file:
        yield from list(csv.reader(file))[3:]


def test_kernels_by_type_and_shapes(found: Comparison) -> None:
    rows = {(row["kernel"], row["shapes"] or "N/A"): row for row in found.table("kernel_shapes").records()}
    expected = {(kernel, shapes.strip('"')): values for _, kernel, shapes, *values in sheet("KernelCompare")}
    assert set(expected) - set(rows) == {("hcom_allReduce_", "N/A")}  # a collective, in table communication
    for key, row in rows.items():
        total, _, longest, shortest, calls, new_total, *_ = map(float, expected[key])
        assert (row["base_ns"] / 1e3, row["new_ns"] / 1e3) == pytest.approx((total, new_total), abs=0.02), key
        assert (row["base_max_ns"] / 1e3, row["base_min_ns"] / 1e3) == pytest.approx((longest, shortest), abs=0.011)
        assert row["base_count"] == calls


def test_kernels_by_type_and_core(found: Comparison) -> None:
    with shared(
        "ascend", "alexnet_ddp_level1_text", "rank0_ascend_pt", "ASCEND_PROFILER_OUTPUT", "op_statistic.csv"
    ).open(encoding="utf-8") as file:
        expected = {(row["OP Type"], row["Core Type"]): row for row in csv.DictReader(file)}
    for row in found.table("kernel_types").records():
        known = expected.pop((row["type"], row["core"]))
        assert row["base_count"] == int(known["Count"])
        for column, name in (("base_ns", "Total"), ("base_max_ns", "Max"), ("base_min_ns", "Min")):
            assert row[column] / 1e3 == pytest.approx(float(known[f"{name} Time(us)"]), abs=0.06)
    assert not {core for _, core in expected} & {"AI_CORE", "AI_VECTOR_CORE", "MIX_AIV", "MIX_AIC"}


def test_collectives_and_their_tasks(found: Comparison) -> None:
    kinds = {"": None, "Reduce_Inline": "reduce", "Memcpy": "copy", "Notify_Record": "signal", "Notify_Wait": "wait"}
    rows = {row["task"]: row for row in found.table("communication").records()}
    for _, _, task, calls, total, _, longest, shortest, *_ in sheet("CommunicationCompare"):
        row = rows.pop(kinds[task])
        assert row["base_count"] == int(calls)
        values = [row[column] / 1e3 for column in ("base_ns", "base_max_ns", "base_min_ns")]
        assert values == pytest.approx([float(total), float(longest), float(shortest)], abs=0.05)
    assert not rows


def test_host_time_of_operators(found: Comparison) -> None:
    rows = {row["name"]: row for row in found.table("api").records()}
    for _, name, total, own, _, calls, new_total, *_ in sheet("ApiCompare"):
        if name.startswith("enumerate(DataLoader)"):  # a wait, not an operator: part idle.data_wait of the step
            continue
        row = rows.pop(name)
        assert row["base_self_ns"] / 1e6 == pytest.approx(float(own), abs=0.0101), name
        if name == "HcclAllreduce":  # it calls itself: that tool counts the time of the inner call twice
            assert row["base_ns"] == row["base_self_ns"]
        else:
            totals = (row["base_ns"] / 1e6, row["new_ns"] / 1e6)
            assert totals == pytest.approx((float(total), float(new_total)), abs=0.0101), name
        assert row["base_count"] == int(calls)
    assert not rows


def test_memory_of_the_outermost_operators(found: Comparison) -> None:
    """Allocations of the library itself, on its own thread, have no operator here."""
    sums: Counter[str] = Counter()
    for row in found.table("memory_calls").records():
        outermost = next((name for name in (row["base_path"] or "").split(" / ") if not NUMBERED.search(name)), "")
        sums[outermost] += row["base_bytes"]
    assert sum(sums.values()) == sum(found.table("memory").column("base_bytes"))
    expected = {name: float(size) * 2**20 for _, name, _, size, *_ in sheet("MemoryCompareStatistic") if float(size)}
    assert sum(sums.values()) == pytest.approx(sum(expected.values()), abs=2**20)
    of_library = {"DistributedDataParallel.forward", "autograd::engine::evaluate_function: ConvolutionBackward0"}
    for name in set(expected) - of_library:
        assert sums[name] == expected[name]
    assert all(0 < sums[name] < expected[name] for name in of_library)


def test_modules(found: Comparison) -> None:
    """That tool counts copies and memsets too, which these modules do not have in the forward pass."""
    rows = {}
    for row in found.table("compute_modules").records():
        rows["/ " + "/ ".join(name for name in (row["base_path"] or "").split(" / ") if NUMBERED.search(name))] = row
    seen = {"base_total_ns": 0, "base_backward_ns": 0}
    for _, kind, _, module, operator, _, _, _, total, *_ in sheet("ModuleCompareStatistic"):
        if operator == "[ TOTAL ]" and kind.endswith(("Conv2d", "MaxPool2d", "Linear", "AdaptiveAvgPool2d")):
            column = "base_backward_ns" if "BACKWARD" in module else "base_total_ns"
            value = rows[module.replace("/[ BACKWARD ]", "")][column] / 1e6
            # A convolution's backward pass has memsets of 2 µs.
            assert value == pytest.approx(float(total), abs=0.005 if "BACKWARD" in module else 1e-5), module
            seen[column] += 1
    assert seen == {"base_total_ns": 12, "base_backward_ns": 12}


def test_modules_have_their_call_stacks_and_operators_their_inputs(found: Comparison) -> None:
    expected = {}
    for row in sheet("ModuleCompareStatistic"):
        if row[4] == "[ TOTAL ]" and row[16]:
            # What has no file is no line here.
            lines = [one.strip() for one in row[16].split(";") if not one.strip().startswith("<")]
            expected[NUMBERED.sub("", row[3].rpartition("/ ")[2])] = lines
    seen = 0
    for each in found.table("compute_modules").records():
        known = expected.get(NUMBERED.sub("", (each["base_path"] or "").rpartition(" / ")[2]))
        if known and each["base_stack"]:
            seen += 1
            assert each["base_stack"].split(";\n")[:5] == known[:5], each["name"]
    assert seen
    inputs = {row["base_dtypes"] for row in found.table("memory_calls").records()}
    shapes = [row["base_shapes"] or "" for row in found.table("memory_calls").records()]
    assert any("[32, 3, 224, 224]" in one for one in shapes), shapes
    assert any("float" in (one or "") for one in inputs)
