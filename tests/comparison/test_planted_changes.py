"""The bench that plants changes in recordings: what it changes, where it has no place, and its pairs of noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.comparing.device import clock, collectives, copies, split
from bench.comparing.host import host_operator, loader, synchronisation
from bench.comparing.judging import judged
from bench.comparing.noise import versions
from bench.comparing.trace import PlantedTrace, warped
from bench.comparing.truth import NotThereError, Truth

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.model.kernel_names import classify
from stepscope.model.trace import Trace
from support import Facts

WAIT = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def planted(folder: Path, *events: tuple[str, str, int, int, int]) -> PlantedTrace:
    """A trace of one step of 100 µs: category, name, start and length in µs, correlation."""
    rows: list[dict[str, Any]] = [
        {
            "ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": 0 if cat == "kernel" else 9,
            "tid": 7 if cat == "kernel" else 9, "args": {"correlation": key} if key else {},
        }
        for cat, name, ts, dur, key in events
    ]  # fmt: skip
    path = folder / "trace.json"
    path.write_text(json.dumps({"traceEvents": rows}), encoding="utf-8")
    return PlantedTrace(path, [(0, 100_000)])


def test_a_slower_clock_slows_kernels_that_copy_and_no_collective(tmp_path: Path) -> None:
    names = ("batched_transpose_32x32_half", "ampere_sgemm_128x64_tn", "ncclDevKernel_AllReduce_Sum_f32")
    trace = planted(tmp_path, *(("kernel", name, 20 * i, 10, i + 1) for i, name in enumerate(names)))
    truth = clock(trace, 2.0)
    assert truth.added_ns == 6_000
    assert {"all of it × 1.28", "all of it × 1.32"} <= {*truth.words[0]}
    assert "all of it × 1.33" not in truth.words[0]
    assert [one["dur"] for one in trace.work()] == [13_000, 13_000, 10_000]


@pytest.mark.parametrize(("busy_until", "there"), [(9, True), (60, False)])
def test_a_loader_is_slowed_only_where_the_device_waits(tmp_path: Path, busy_until: int, there: bool) -> None:
    trace = planted(
        tmp_path,
        ("cuda_runtime", "cudaLaunchKernel", 1, 1, 1), ("kernel", "gemm", 2, busy_until - 2, 1),
        ("user_annotation", WAIT, 10, 20, 0),
        ("cuda_runtime", "cudaLaunchKernel", 40, 1, 2), ("kernel", "gemm", 70, 20, 2),
    )  # fmt: skip
    if there:
        assert loader(trace).added_ns == 10_000
        return
    with pytest.raises(NotThereError):
        loader(trace)


@pytest.mark.parametrize(("pairs", "number"), [(1, 2), (2, 3), (3, 3), (4, 4), (13, 6)])
def test_so_many_versions_make_pairs_of_noise(pairs: int, number: int) -> None:
    assert versions(pairs) == number


def test_no_call_waits_longer_for_an_idle_device_than_one_would(tmp_path: Path) -> None:
    launches = [("cuda_runtime", "cudaLaunchKernel", 5 + 30 * i, 1, i + 1) for i in range(3)]
    kernels = [("kernel", "gemm", 10 + 30 * i, 5, i + 1) for i in range(3)]
    trace = planted(tmp_path, *launches, *kernels)
    truth = synchronisation(trace, 1000)  # 10 ms in one or two moments
    calls = [one for one in trace.timeline.timed if one["name"] == "cudaDeviceSynchronize"]
    assert truth.added_ns == 10_000_000
    assert len(calls) == 14
    assert max(one["dur"] for one in calls) < 1_000_000


@pytest.mark.parametrize(("wait", "names"), [(0, {"aten::add"}), (40, set())])
def test_an_operator_is_slowed_only_outside_of_the_wait_for_a_batch(tmp_path: Path, wait: int, names: set[str]) -> None:
    calls = [("cpu_op", "aten::add", 10 + 5 * i, 2, 0) for i in range(6)]
    waits = [("user_annotation", WAIT, 5, wait, 0)] if wait else []
    trace = planted(
        tmp_path, *waits, *calls, ("cuda_runtime", "cudaLaunchKernel", 60, 1, 2), ("kernel", "gemm", 70, 20, 2)
    )
    if names:
        assert host_operator(trace).words == (("aten::add", "all of the host"),)
        return
    with pytest.raises(NotThereError):
        host_operator(trace)


def test_a_host_whose_launches_are_not_recorded_delays_nothing(tmp_path: Path) -> None:
    trace = planted(tmp_path, ("user_annotation", WAIT, 10, 20, 0), ("kernel", "gemm", 70, 20, 0))
    with pytest.raises(NotThereError):
        loader(trace)


@pytest.mark.parametrize("name", ["aclnnForeachAddListV2_ForeachAddListV2_ForeachAddListV2", "ampere_sgemm_128x64_tn"])
def test_parts_of_a_split_kernel_are_of_its_class(tmp_path: Path, name: str) -> None:
    launches = [("cuda_runtime", "cudaLaunchKernel", 2 + 30 * i, 1, i + 1) for i in range(3)]
    kernels = [("kernel", name, 5 + 30 * i, 31 - i, i + 1) for i in range(3)]
    trace = planted(tmp_path, *launches, *(one for one in kernels))
    truth = split(trace)
    found = {str(one["name"]) for one in trace.kernels()}
    assert len(found) == 3
    assert {classify(one).op_class for one in found} == {truth.words[0][0]}


def test_copies_may_have_one_word_for_a_name(tmp_path: Path) -> None:
    trace = planted(tmp_path, ("gpu_memcpy", "MEMCPY_ASYNC", 10, 5, 0))
    assert copies(trace).words == (("memcpy_async", "all of it"),)


def test_collectives_beside_kernels_stay_as_they_are_and_the_factor_says_so(tmp_path: Path) -> None:
    name = "ncclDevKernel_AllReduce_Sum_f32"
    trace = planted(tmp_path, ("kernel", name, 0, 10, 1), ("kernel", name, 20, 30, 2), ("kernel", "gemm", 25, 5, 3))
    truth = collectives(trace)
    assert truth.added_ns == 10_000
    assert "× 1.25" in truth.words[1]
    assert "× 2.00" not in truth.words[1]


def test_an_operator_is_slowed_where_the_device_waits_and_its_calls_with_it(tmp_path: Path) -> None:
    calls = [("cpu_op", "aten::add", 10 + 10 * i, 6, 0) for i in range(6)]
    launches = [("cuda_runtime", "cudaLaunchKernel", 12 + 10 * i, 3, i + 1) for i in range(6)]
    trace = planted(tmp_path, *calls, *launches, ("kernel", "gemm", 61, 10, 6))
    truth = host_operator(trace)
    assert truth.words == (("aten::add", "cudalaunchkernel", "all of the host"),)
    assert truth.added_ns == 10_000
    assert [one["dur"] for one in trace.kernels()] == [10_000]


def test_time_is_put_in_to_the_ns_into_moments_since_1970() -> None:
    at = 1_694_128_201_430_147_000  # floats near it are 256 ns apart
    warp = warped([(at, at + 1, 3_000_000), (at + 10_000, at + 10_100, 50)])
    moments = np.array([at - 1, at, at + 1, at + 10_050, at + 10_100], np.int64)
    later = (warp(moments) - moments).tolist()
    assert later == [0, 0, 3_000_000, 3_000_025, 3_000_050]


@pytest.mark.parametrize(
    ("stalls", "gone", "verdict", "right"),
    [
        ((3,), True, "inconclusive", True),
        ((1, 4), True, "faster", True),
        ((3,), False, "slower", True),
        ((), True, "same", False),
    ],
    ids=["one is gone", "two are gone", "one is new", "none is seen"],
)
def test_a_single_stall_that_is_gone_proves_nothing(
    stalls: tuple[int, ...], gone: bool, verdict: str, right: bool
) -> None:
    """It may come back, so that the verdict is inconclusive then; of several it is faster, and a new one is slower."""
    slow, usual = (_stalled(some) for some in (stalls, ()))
    found = compare_traces(*((slow, usual) if gone else (usual, slow)), CompareOptions(findings=False))
    added = 1000 * max(1, len(stalls)) * (-1 if gone else 1)
    assert judged(found, Truth(added, 8, ("idle",), ((),), slow=max(1, len(stalls)))).verdict is right
    assert found.verdict == verdict


def _stalled(stalls: tuple[int, ...]) -> Trace:
    facts, at = Facts(), 0
    for number in range(8):
        length = 1000 + 3 * (number * 5 % 8) + (1000 if number in stalls else 0)
        facts.step(number, at, length)
        facts.kernel("sgemm", at + 10, 900, launch=(at + 2, 5))
        at += length
    return facts.trace(source=f"{stalls}")
