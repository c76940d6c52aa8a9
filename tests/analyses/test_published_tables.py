"""Agreement with tables that TraceLens published for the same recordings."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from stepscope.analyses.host.operators import operators
from stepscope.analyses.kernels.kernel_origins import kernel_attribution, kernels_by_operator
from stepscope.analyses.kernels.kernels import kernels
from stepscope.model.trace import Trace
from support import recorded_trace, shared

WITH_KERNELS = (
    "h100_bert_small", "h100_qwen05b_infer", "mi210_gpu_only", "mi300_bert_small", "mi300_compile_triton",
    "mi300_qwen05b_infer",
)  # fmt: skip
WITH_OPERATORS = (
    "h100_bert_small", "h100_qwen05b_infer", "mi300_bert_small", "mi300_compile_triton", "mi300_qwen05b_infer",
    "mi300_resnet_recompute_ddp8", "mi300_sglang_prefilldecode", "rocm_vllm_piecewise_graphs",
)  # fmt: skip

#: Count and time in µs by name.
Sums = dict[str, tuple[int, float]]


def read_sums(file: Path, name: str, count: str, time: str) -> Sums:
    """The sums of a published table whose rows are finer than its names."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            sums[row[name]][0] += int(row[count])
            sums[row[name]][1] += float(row[time])
    return {key: (int(number), total) for key, (number, total) in sums.items()}


def open_shared(name: str) -> Trace:
    return recorded_trace("kineto", name, "trace.json.gz")


def differing(found: Sums, expected: Sums) -> dict[str, tuple[object, object]]:
    """Names whose count differs, or whose time differs by more than 0.1 % and more than 1 µs."""
    return {
        name: (found.get(name), expected.get(name))
        for name in found.keys() | expected.keys()
        if name not in found
        or name not in expected
        or found[name][0] != expected[name][0]
        or abs(found[name][1] - expected[name][1]) > max(0.001 * expected[name][1], 1)
    }


@pytest.mark.parametrize("name", WITH_KERNELS)
def test_kernels_agree(name: str) -> None:
    """The published table has no copies and memsets."""
    file = shared("kineto", name, "expected_kernel_summary.csv")
    expected = read_sums(file, "Kernel name", "Kernel duration (µs)_count", "Kernel duration (µs)_sum")
    rows = [row for row in kernels(open_shared(name)).records() if row["kind"] not in ("copy", "set")]
    found = {row["name"]: (row["count"], row["total_ns"] / 1000) for row in rows}
    assert expected
    assert differing(found, expected) == {}


def launching(trace: Trace) -> Sums:
    """Operators with how many of their calls launched something, which is what TraceLens counts, and its time."""
    query = """
        SELECT n.name, count(DISTINCT k.op) AS calls
        FROM kernels k JOIN spans s ON s.id = k.op JOIN names n USING (name_id) GROUP BY 1
    """
    calls = {row["name"]: row["calls"] for row in trace.sql(query).to_pylist()}
    rows = [row for row in operators(trace).records() if row["kernels"]]
    return {row["name"]: (calls[row["name"]], row["self_device_ns"] / 1000) for row in rows}


@pytest.mark.parametrize("name", WITH_OPERATORS)
def test_operators_agree(name: str) -> None:
    trace = open_shared(name)
    file = shared("kineto", name, "expected_ops_summary.csv")
    expected = read_sums(file, "name", "Count", "total_direct_kernel_time_sum")
    found = launching(trace)
    DIFFERENCES.get(name, lambda *_: None)(trace, found, expected)
    assert expected
    assert differing(found, expected) == {}


@pytest.mark.parametrize("name", WITH_OPERATORS)
def test_operators_and_kernels_by_operator_tell_the_same(name: str) -> None:
    trace = open_shared(name)
    times: dict[str, int] = defaultdict(int)
    for row in kernels_by_operator(trace).records():
        times[row["operator"]] += row["total_ns"]
    times.pop(None, None)  # type: ignore[call-overload]
    assert {row["name"]: row["self_device_ns"] for row in operators(trace).records() if row["kernels"]} == times


def _resnet(trace: Trace, found: Sums, expected: Sums) -> None:
    """This table of TraceLens leaves out memsets and collectives."""
    for row in kernels_by_operator(trace).records():
        if row["operator"] and row["kind"] in ("set", "comm"):
            calls, time = found[row["operator"]]
            found[row["operator"]] = (calls, time - row["total_ns"] / 1000)
    assert found.pop("record_param_comms")[1] == pytest.approx(0)
    assert "record_param_comms" not in expected


def _sglang(trace: Trace, found: Sums, expected: Sums) -> None:
    """TraceLens strips numbers from these names, and lists launches outside operators under the call's name."""
    name = "sglang_profiler::forward_batch_info_compute_position_triton"
    [numbered] = [each for each in found if each.startswith(name)]
    found[name] = found.pop(numbered)
    [outside] = [row for row in kernel_attribution(trace).records() if row["name"] == "launch"]
    published = [expected.pop(call) for call in ("hipLaunchKernel", "hipModuleLaunchKernel")]
    assert outside["count"] == sum(count for count, _ in published)
    assert outside["total_ns"] / 1000 == pytest.approx(sum(time for _, time in published), abs=0.01)


def _graphs(trace: Trace, found: Sums, expected: Sums) -> None:
    """TraceLens had a second recording, of the graphs' capture, which tells their operators; here they stay apart."""
    captured = [expected.pop(name) for name in list(expected) if name not in found]
    [graphs] = [row for row in kernel_attribution(trace).records() if row["name"] == "graph launch"]
    assert graphs["total_ns"] / 1000 == pytest.approx(sum(time for _, time in captured), rel=0.001)


DIFFERENCES: dict[str, Callable[[Trace, Sums, Sums], None]] = {
    "mi300_resnet_recompute_ddp8": _resnet,
    "mi300_sglang_prefilldecode": _sglang,
    "rocm_vllm_piecewise_graphs": _graphs,
}
