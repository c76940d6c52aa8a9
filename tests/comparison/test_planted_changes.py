"""The bench that plants changes in recordings: what it changes, where it has no place, and its pairs of noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.comparing.device import clock
from bench.comparing.host import loader
from bench.comparing.noise import versions
from bench.comparing.trace import PlantedTrace
from bench.comparing.truth import NotThereError

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
