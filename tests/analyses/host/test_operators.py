"""Host and device time of operators, in all and by shape, stack and module."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.analyses.host.operators import operators, operators_by_module, operators_by_shape, operators_by_stack
from stepscope.model.errors import MissingInputError
from stepscope.model.table import Table
from support import Facts


def by_name(table: Table) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in table.records()}


def test_self_and_total_time_on_host_and_device() -> None:
    f = Facts()
    f.host("op", "aten::linear", 0, 100)
    f.host("op", "aten::t", 5, 10)
    f.host("op", "aten::addmm", 20, 60)
    f.kernel("gemm", 200, 50, launch=(30, 10))
    f.kernel("bias", 240, 30, launch=(50, 5), stream="8")
    found = by_name(operators(f.trace()))
    assert list(found) == ["aten::linear", "aten::addmm", "aten::t"]
    assert found["aten::addmm"] == {
        "name": "aten::addmm", "count": 1, "total_ns": 60, "mean_ns": 60, "median_ns": 60, "min_ns": 60, "max_ns": 60,
        "share": 0.6, "rank": 0, "self_ns": 60, "runtime_ns": 15, "kernels": 2, "self_device_ns": 80,
        "self_device_busy_ns": 70, "total_device_ns": 80,
    }  # fmt: skip
    linear = found["aten::linear"]
    assert (linear["self_ns"], linear["runtime_ns"], linear["kernels"]) == (30, 0, 0)
    assert (linear["self_device_ns"], linear["total_device_ns"]) == (0, 80)


def test_self_times_add_up_to_the_time_in_operators() -> None:
    f = Facts()
    f.host("op", "a", 0, 100)
    f.host("op", "b", 10, 50)
    f.host("op", "c", 20, 90)  # outlives both
    f.host("op", "a", 0, 70, thread="2")
    f.host("op", "d", 300, None)
    table = operators(f.trace())
    assert sum(table.column("self_ns")) == 100 + 70 + max(0, 110 - 100 - 10)
    assert by_name(table)["d"]["total_ns"] == 0


def test_an_operator_that_calls_itself_counts_its_time_once() -> None:
    f = Facts()
    f.host("op", "aten::sum", 0, 100)
    f.host("op", "aten::to", 5, 90)
    f.host("op", "aten::sum", 10, 60)
    f.kernel("k", 200, 40, launch=(20, 5))
    f.host("op", "aten::sum", 300, 20)
    found = by_name(operators(f.trace()))
    total = found["aten::sum"]
    assert (total["count"], total["total_ns"], total["self_ns"]) == (3, 120, 10 + 60 + 20)
    assert (total["min_ns"], total["max_ns"], total["median_ns"]) == (20, 100, 60)
    assert (total["self_device_ns"], total["total_device_ns"]) == (40, 40)
    assert found["aten::to"]["total_device_ns"] == 40


def test_calls_inside_calls_of_the_runtime_count_once() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 100)
    f.host("launch", "cudaLaunchKernel", 10, 30)
    f.host("runtime", "cuLaunchKernel", 15, 20)
    f.host("sync", "cudaStreamSynchronize", 50, 20)
    assert operators(f.trace()).column("runtime_ns") == [50]


def test_threads_are_summed_and_nest_apart() -> None:
    f = Facts()
    f.host("op", "forward", 0, 100)
    f.host("op", "backward", 10, 50, thread="2")
    f.kernel("k", 200, 10, launch=(20, 5), thread="2")
    found = by_name(operators(f.trace()))
    assert (found["forward"]["self_ns"], found["forward"]["total_device_ns"]) == (100, 0)
    assert (found["backward"]["self_ns"], found["backward"]["total_device_ns"]) == (50, 10)


def test_regression_hta_operators_with_no_kernel_or_with_many() -> None:
    f = Facts()
    f.host("op", "empty", 0, 10)
    f.host("op", "graph", 20, 50)
    correlation = f.correlation()
    f.host("launch", "cudaGraphLaunch", 30, 5, correlation=correlation)
    for number in range(3):
        f.kernel("k", 100 + 10 * number, 10, launch=correlation, stream=str(number))
    found = by_name(operators(f.trace()))
    assert (found["empty"]["kernels"], found["graph"]["kernels"]) == (0, 3)
    assert found["graph"]["self_device_ns"] == 30


def test_kernels_without_launch_belong_to_the_operator_that_they_name() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10, external_id=5)
    f.kernel("k", 20, 30, external_id=5)
    f.kernel("k", 60, 30)
    assert operators(f.trace()).column("total_device_ns") == [30]


def test_waits_of_queues_are_no_device_time() -> None:
    f = Facts()
    f.host("op", "aten::wait", 0, 100)
    f.kernel("Stream Wait Event", 20, 500, kind="sync", launch=(10, 5))
    f.kernel("k", 600, 5, launch=(120, 5))
    assert operators(f.trace()).column("total_device_ns") == [0]


def test_without_a_device_its_columns_are_unknown_not_zero() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    [row] = operators(f.trace()).records()
    assert row["total_ns"] == 10
    assert {row[name] for name in ("kernels", "self_device_ns", "self_device_busy_ns", "total_device_ns")} == {None}


def test_calls_with_equal_names_and_inputs_share_a_row() -> None:
    f = Facts()
    inputs = [("[[2,3]]", '["float"]'), ("[[2,3]]", '["float"]'), ("[[2,3]]", '["half"]'), ("[[4,3]]", '["float"]')]
    for number, (shapes, dtypes) in enumerate(inputs):
        f.row("op_inputs", event=f.host("op", "aten::mm", 100 * number, 10 + number), shapes=shapes, dtypes=dtypes)
    f.host("op", "aten::mm", 1000, 5)
    rows = operators_by_shape(f.trace()).records()
    assert [(r["shapes"], r["dtypes"], r["count"], r["total_ns"]) for r in rows] == [
        ("[[2,3]]", '["float"]', 2, 21),
        ("[[4,3]]", '["float"]', 1, 13),
        ("[[2,3]]", '["half"]', 1, 12),
        (None, None, 1, 5),
    ]


def test_recorded_stacks_tell_callers() -> None:
    f = Facts()
    for number, stack in enumerate(
        ("a.py(1): f;m.py(9): main", "a.py(2): g;m.py(9): main", "a.py(1): f;m.py(9): main")
    ):
        f.row("op_inputs", event=f.host("op", "aten::mm", 100 * number, 10), stack=stack)
    f.host("op", "aten::mm", 1000, 5)
    rows = operators_by_stack(f.trace()).records()
    assert [(r["stack"], r["count"]) for r in rows] == [
        ("a.py(1): f;m.py(9): main", 2), ("a.py(2): g;m.py(9): main", 1), (None, 1)
    ]  # fmt: skip


def test_python_events_tell_callers() -> None:
    f = Facts()
    f.host("python", "m.py(9): main", 0, 1000)
    f.host("python", "a.py(1): f", 10, 300)
    f.host("module", "nn.Module: Linear_0", 15, 200)
    f.host("python", "<built-in method mm of type object at 0x7f>", 20, 100)
    f.host("op", "aten::linear", 25, 90)
    f.host("op", "aten::mm", 30, 50)
    f.host("python", "a.py(1): f", 400, 300)
    f.host("op", "aten::mm", 410, 20)
    f.host("op", "aten::mm", 800, 10)
    f.host("op", "aten::mm", 2000, 5)
    rows = operators_by_stack(f.trace()).records()
    assert [(r["name"], r["stack"], r["count"], r["total_ns"]) for r in rows] == [
        ("aten::linear", "a.py(1): f;m.py(9): main", 1, 90),
        ("aten::mm", "a.py(1): f;m.py(9): main", 2, 70),
        ("aten::mm", "m.py(9): main", 1, 10),
        ("aten::mm", None, 1, 5),
    ]


def test_innermost_module_or_annotation_tells_the_module() -> None:
    f = Facts()
    f.host("annotation", "forward", 0, 500)
    f.host("module", "nn.Module: Linear_0", 10, 100)
    f.host("op", "aten::linear", 20, 80)
    f.host("op", "aten::mm", 30, 50)
    f.kernel("k", 600, 10, launch=(40, 5))
    f.host("op", "aten::mm", 200, 20)
    f.host("op", "aten::mm", 700, 1)
    rows = operators_by_module(f.trace()).records()
    assert [(r["name"], r["module"], r["total_ns"], r["total_device_ns"]) for r in rows] == [
        ("aten::linear", "nn.Module: Linear_0", 80, 10),
        ("aten::mm", "nn.Module: Linear_0", 50, 10),
        ("aten::mm", "forward", 20, 0),
        ("aten::mm", None, 1, 0),
    ]


def test_each_says_what_it_lacks() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    trace = f.trace()
    for run, hint in (
        (operators_by_shape, "record_shapes"),
        (operators_by_stack, "with_stack"),
        (operators_by_module, "record_function"),
    ):
        with pytest.raises(MissingInputError) as error:
            run(trace)
        assert hint in error.value.hint


def test_without_operators_all_abstain() -> None:
    f = Facts()
    f.kernel("k", 20, 5, launch=(0, 5))
    trace = f.trace()
    for run in (operators, operators_by_shape, operators_by_stack, operators_by_module):
        with pytest.raises(MissingInputError, match="no operators"):
            run(trace)
