"""Kernels by name, class and operator, and how much of their time is attributed."""

from __future__ import annotations

import pytest

from stepscope.analyses.kernels.kernel_origins import kernel_attribution, kernels_by_operator
from stepscope.analyses.kernels.kernels import kernel_classes, kernels
from stepscope.model.errors import MissingInputError
from support import Facts

GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn"


def test_kernels_are_summed_by_name_longest_first() -> None:
    f = Facts()
    f.kernel(GEMM, 0, 300, grid=[4, 2, 1], block=[128, 1, 1], registers=90, shared_bytes=1024, occupancy=0.5)
    f.kernel(GEMM, 400, 100, grid=[8, 2, 1], block=[128, 1, 1], registers=96, shared_bytes=512, occupancy=1.0)
    f.kernel("vectorized_elementwise_kernel", 600, 20_000)
    short, gemm = kernels(f.trace()).records()
    assert (short["name"], short["total_ns"], short["short"], short["blocks"], short["occupancy"]) == (
        "vectorized_elementwise_kernel", 20_000, 0, None, None
    )  # fmt: skip
    assert gemm == {
        "name": GEMM, "count": 2, "total_ns": 400, "mean_ns": 200, "median_ns": 100, "min_ns": 100, "max_ns": 300,
        "share": 400 / 20_400, "rank": 0, "op_class": "gemm", "kind": "compute", "core": None, "p99_ns": 300,
        "short": 2,
        "tensor_core": True, "dtype": "bf16", "occupancy": 0.625, "blocks": 8, "threads": 128, "registers": 96,
        "shared_bytes": 1024, "streams": 1,
    }  # fmt: skip


def test_kinds_of_cores_are_told_apart() -> None:
    """A mean over short kernels of one core and long ones of another says nothing of either."""
    f = Facts()
    for ts, dur, core in ((0, 100, "AI_CORE"), (200, 100, "AI_CORE"), (400, 18_000, "MIX_AIC")):
        f.kernel("MatMulV3", ts, dur, core=core)
    assert [(r["core"], r["count"], r["mean_ns"]) for r in kernels(f.trace()).records()] == [
        ("MIX_AIC", 1, 18_000), ("AI_CORE", 2, 100),
    ]  # fmt: skip


def test_mean_is_rounded_down_and_median_is_the_lower_middle() -> None:
    f = Facts()
    for number, dur in enumerate((3, 1, 4, 3)):
        f.kernel("k", 10 * number, dur)
    [row] = kernels(f.trace()).records()
    assert (row["total_ns"], row["mean_ns"], row["median_ns"]) == (11, 2, 3)


def test_regression_hta_regrouping_keeps_mean_and_extremes_of_many_names() -> None:
    f = Facts()
    for number in range(30):
        f.kernel(f"k{number}", 100 * number, 10)
        f.kernel(f"k{number}", 100 * number + 50, 20)
    rows = kernels(f.trace()).records()
    assert len(rows) == 30
    assert {(r["mean_ns"], r["min_ns"], r["max_ns"]) for r in rows} == {(15, 10, 20)}
    assert sum(r["share"] for r in rows) == pytest.approx(1)


@pytest.mark.parametrize("stream", ["0", "default", "sycl queue 3", ""])
def test_regression_hta_every_stream_counts_also_stream_0_and_named_ones(stream: str) -> None:
    f = Facts()
    f.kernel("k", 0, 10, stream=stream)
    f.kernel("k", 5, 10, stream="7")
    [row] = kernels(f.trace()).records()
    assert (row["count"], row["total_ns"], row["streams"]) == (2, 20, 2)


def test_regression_hta_durations_below_a_microsecond_are_kept() -> None:
    f = Facts()
    f.kernel("k", 100, 1)
    f.kernel("k", 1_900, 999)
    [row] = kernels(f.trace()).records()
    assert (row["min_ns"], row["max_ns"], row["total_ns"]) == (1, 999, 1000)


def test_regression_hta_hip_copies_are_copies_not_communication() -> None:
    f = Facts()
    f.kernel("hipMemcpyAsync", 0, 10, kind="copy")
    f.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20, 30)
    rows = {row["name"]: row for row in kernel_classes(f.trace()).records()}
    assert {name: row["total_ns"] for name, row in rows.items()} == {"copy": 10, "collective": 30}


def test_kernels_of_no_length_and_of_missing_length_count_as_no_time() -> None:
    f = Facts()
    f.kernel("k", 0, 0)
    f.kernel("k", 0, None)
    [row] = kernels(f.trace()).records()
    assert (row["count"], row["total_ns"], row["share"], row["occupancy"]) == (2, 0, 0.0, None)


def test_overlapping_kernels_and_those_of_two_devices_count_in_full() -> None:
    f = Facts()
    f.kernel("k", 0, 100)
    f.kernel("k", 50, 100)
    f.kernel("k", 50, 100, device=1)
    [row] = kernels(f.trace()).records()
    assert (row["count"], row["total_ns"], row["streams"]) == (3, 300, 2)


def test_waits_of_queues_are_no_kernels() -> None:
    f = Facts()
    f.kernel("k", 0, 10)
    f.kernel("Stream Wait Event", 10, 1000, kind="sync")
    assert kernels(f.trace()).column("name") == ["k"]


def test_classes_sum_up_names_and_tensor_core_time() -> None:
    f = Facts()
    f.kernel(GEMM, 0, 300)
    f.kernel("sgemm_128x64_nn", 400, 100)
    f.kernel("Memset (Device)", 600, 5, kind="set")
    gemm, copy = kernel_classes(f.trace()).records()
    assert (gemm["name"], gemm["count"], gemm["names"], gemm["tensor_core_ns"]) == ("gemm", 2, 2, 300)
    assert (copy["name"], copy["total_ns"], copy["tensor_core_ns"]) == ("copy", 5, 0)


def test_operator_of_a_kernel_or_why_there_is_none() -> None:
    f = Facts()
    f.host("op", "aten::linear", 0, 100)
    f.host("op", "aten::addmm", 10, 50)
    f.kernel("k", 200, 70, launch=(20, 5))
    f.kernel("k", 300, 30, launch=(110, 5))
    f.kernel("k", 400, 10)
    correlation = f.correlation()
    f.host("launch", "cudaGraphLaunch", 120, 5, correlation=correlation)
    f.kernel("k", 500, 3, launch=correlation)
    f.kernel("k", 600, 2, launch=correlation)
    trace = f.trace()
    found = [
        (row["operator"], row["attribution"], row["count"], row["total_ns"])
        for row in kernels_by_operator(trace).records()
    ]
    assert found == [
        ("aten::addmm", "operator", 1, 70),
        (None, "launch", 1, 30),
        (None, "none", 1, 10),
        (None, "graph launch", 2, 5),
    ]
    assert [(row["name"], row["share"]) for row in kernel_attribution(trace).records()] == [
        ("operator", 70 / 115), ("launch", 30 / 115), ("none", 10 / 115), ("graph launch", 5 / 115)
    ]  # fmt: skip


def test_without_device_activity_all_abstain() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    f.kernel("Stream Wait Event", 0, 10, kind="sync")
    trace = f.trace()
    for run in (kernels, kernel_classes, kernels_by_operator, kernel_attribution):
        with pytest.raises(MissingInputError, match="no device activity"):
            run(trace)
