"""Step budget: small traces with the split worked out by hand, and real recordings."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from series import rounds
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from support import Facts, recorded_trace, shared

PARTS = ("total_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns", "comm_ns", "copy_ns")


def budget(facts: Facts) -> dict[tuple[int | None, int | None], tuple[int, ...]]:
    """Parts of the split by (device, step)."""
    rows = step_budget(facts.trace()).records()
    assert all(
        r["compute_ns"] + r["exposed_comm_ns"] + r["exposed_copy_ns"] + r["idle_ns"] == r["total_ns"] for r in rows
    )
    return {(r["device"], r["step"]): tuple(r[part] for part in PARTS) for r in rows}


def test_compute_hides_communication_and_both_hide_copies() -> None:
    f = Facts()
    f.step(0, 0, 100)
    f.kernel("gemm", 10, 20, launch=(1, 2), kind="compute")
    f.kernel("ncclDevKernel_AllReduce", 20, 30, launch=(4, 2), kind="comm", stream="20")
    f.kernel("Memcpy HtoD", 40, 20, launch=(7, 2), kind="copy", stream="21")
    got = budget(f)
    assert got[0, 0] == (100, 20, 20, 10, 50, 30, 20)
    assert got[0, None] == (50, 20, 20, 10, 0, 30, 20)


def test_kernels_that_overlap_on_one_stream_count_once() -> None:
    f = Facts()
    f.step(0, 0, 50)
    f.kernel("a", 10, 20, launch=(1, 1), kind="compute")
    f.kernel("b", 25, 20, launch=(3, 1), kind="compute")
    assert budget(f)[0, 0] == (50, 35, 0, 0, 15, 0, 0)


@pytest.mark.parametrize("stream", ["0", "sycl queue 0x1", ""])
def test_streams_may_have_any_name(stream: str) -> None:
    f = Facts()
    f.step(0, 0, 50)
    f.kernel("a", 10, 20, launch=(1, 1), kind="compute", stream=stream)
    assert budget(f)[0, 0] == (50, 20, 0, 0, 30, 0, 0)


def test_a_step_that_the_recording_cuts_off_is_marked() -> None:
    f = Facts()
    for number, kernels in enumerate((4, 4, 1)):
        f.step(number, 100 * number, 100)
        for k in range(kernels):
            f.kernel("a", 100 * number + 20 * k + 5, 10, launch=(100 * number + 20 * k, 2))
    rows = step_budget(f.trace()).records()
    assert [(row["step"], row["partial"]) for row in rows] == [(0, False), (1, False), (2, True), (None, None)]


def test_work_that_runs_into_the_next_step_stays_with_its_own() -> None:
    f = Facts()
    f.step(0, 0, 100)
    f.step(1, 100, 100)
    f.kernel("a", 50, 80, launch=(40, 1), kind="compute")
    f.kernel("b", 130, 90, launch=(110, 1), kind="compute")
    rows = {r["step"]: r for r in step_budget(f.trace()).records()}
    assert [(rows[s]["start_ns"], rows[s]["end_ns"]) for s in (0, 1)] == [(0, 130), (130, 220)]
    assert [(rows[s]["compute_ns"], rows[s]["idle_ns"]) for s in (0, 1)] == [(80, 50), (90, 0)]
    assert [rows[s]["number"] for s in (0, 1, None)] == [0, 1, None]


def test_step_covered_by_earlier_work_is_kept_and_empty() -> None:
    f = Facts()
    f.step(0, 0, 10)
    f.step(1, 10, 10)
    f.kernel("a", 5, 100, launch=(1, 1), kind="compute")
    assert budget(f)[0, 1] == (0,) * 7


def test_time_between_steps_belongs_to_neither() -> None:
    f = Facts()
    f.step(0, 0, 10)
    f.step(1, 50, 10)
    f.kernel("a", 2, 5, launch=(1, 1), kind="compute")
    f.kernel("between", 20, 20, kind="compute")
    f.kernel("b", 52, 5, launch=(51, 1), kind="compute")
    got = budget(f)
    assert got[0, 0] == got[0, 1] == (10, 5, 0, 0, 5, 0, 0)
    assert got[0, None] == (55, 30, 0, 0, 25, 0, 0)


def test_without_steps_the_recording_is_one() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 40)
    f.kernel("a", 10, 20, launch=(1, 1), kind="compute")
    assert budget(f) == {(0, 0): (20, 20, 0, 0, 0, 0, 0), (0, None): (20, 20, 0, 0, 0, 0, 0)}


def test_each_device_has_its_own_split_of_the_same_step() -> None:
    f = Facts()
    f.step(0, 0, 50)
    f.kernel("a", 10, 20, launch=(1, 1), kind="compute", device=0)
    f.kernel("b", 20, 50, launch=(3, 1), kind="compute", device=1)
    got = budget(f)
    assert got[0, 0] == (70, 20, 0, 0, 50, 0, 0)
    assert got[1, 0] == (70, 50, 0, 0, 20, 0, 0)


def test_device_that_is_not_recorded_is_null() -> None:
    f = Facts()
    f.step(0, 0, 50)
    f.kernel("a", 10, 20, launch=(1, 1), kind="compute", device=None)
    assert set(budget(f)) == {(None, 0), (None, None)}


def test_waits_of_queues_and_activities_without_duration_are_no_work() -> None:
    f = Facts()
    f.step(0, 0, 50)
    f.kernel("Stream Wait Event", 0, 40, kind="sync")
    f.kernel("empty", 20, 0, launch=(1, 1), kind="compute")
    f.kernel("a", 30, 10, launch=(3, 1), kind="compute")
    assert budget(f)[0, 0] == (50, 10, 0, 0, 40, 0, 0)


def test_without_device_activity_steps_have_no_time_on_one() -> None:
    f = Facts()
    f.step(3, 0, 50)
    f.step(4, 50, 40)
    for at in (10, 20, 60, 70):
        f.host("op", "aten::mm", at, 5)
    rows = step_budget(f.trace()).records()
    assert [(row["device"], row["number"], row["start_ns"], row["end_ns"]) for row in rows] == [
        (None, 3, 0, 50), (None, 4, 50, 90),
    ]  # fmt: skip
    assert {row[part] for row in rows for part in ("total_ns", "compute_ns", "idle_ns", "comm_ns")} == {0}
    assert [row["typical"] for row in rows] == [True, True]


def test_without_device_activity_and_steps_it_abstains() -> None:
    f = Facts()
    f.host("op", "aten::mm", 10, 5)
    with pytest.raises(MissingInputError, match="no device activity"):
        step_budget(f.trace())


ACTIVITY = st.tuples(
    st.integers(0, 300), st.integers(0, 60), st.sampled_from(["compute", "comm", "copy", "set", "sync"])
)


@settings(deadline=None, max_examples=rounds(25, 4))
@given(st.lists(ACTIVITY, min_size=1, max_size=15), st.lists(st.integers(1, 80), min_size=1, max_size=4))
def test_splits_equal_those_of_single_instants(work: list[tuple[int, int, str]], steps: list[int]) -> None:
    assume(any(kind != "sync" for _, _, kind in work))
    f = Facts()
    start = 0
    for number, length in enumerate(steps):
        f.step(number, start, length)
        start += length
    for i, (ts, dur, kind) in enumerate(work):
        f.kernel(f"k{i}", ts, dur, kind=kind, stream=str(i % 3))
    table = [r for r in work if r[2] != "sync"]
    on = {k: {t for ts, dur, kind in table if kind in k for t in range(ts, ts + dur)} for k in KINDS}
    for row in step_budget(f.trace()).records():
        window = set(range(row["start_ns"], row["end_ns"]))
        compute, comm, copy = (on[k] & window for k in KINDS)
        want = (
            len(window), len(compute), len(comm - compute), len(copy - compute - comm),
            len(window - compute - comm - copy), len(comm), len(copy),
        )  # fmt: skip
        assert tuple(row[part] for part in PARTS) == want


KINDS = (("compute",), ("comm",), ("copy", "set"))


def expected(folder: str) -> dict[str, float]:
    """Times in ms as TraceLens computed them for a recording."""
    with shared("kineto", folder, "expected_gpu_timeline.csv").open(newline="") as file:
        rows: list[dict[str, Any]] = [r for r in csv.DictReader(file) if r.get("is_recompute") != "True"]
    return {row["type"]: float(row["time ms"]) for row in rows}


@pytest.mark.parametrize(
    "folder",
    [
        "h100_bert_small",
        "mi210_gpu_only",
        "mi300_bert_small",
        "mi300_compile_triton",
        "mi300_sglang_prefilldecode",
        "rocm_vllm_piecewise_graphs",
    ],
)
def test_agrees_with_tracelens(folder: str) -> None:
    """TraceLens computes in doubles of Unix µs, which resolve 250 ns. These recordings have no memsets."""
    with recorded_trace("kineto", folder, "trace.json.gz") as trace:
        whole = next(r for r in step_budget(trace).records() if r["step"] is None)
    want = expected(folder)
    for part, theirs in (
        ("total_ns", "total_time"),
        ("compute_ns", "computation_time"),
        ("exposed_comm_ns", "exposed_comm_time"),
        ("exposed_copy_ns", "exposed_memcpy_time"),
        ("idle_ns", "idle_time"),
    ):
        assert whole[part] == pytest.approx(want[theirs] * 1e6, rel=1e-4, abs=250), part


@pytest.mark.parametrize("folder", ["h100_qwen05b_infer", "mi300_qwen05b_infer", "mi300_resnet_recompute_ddp8"])
def test_agrees_with_tracelens_on_what_it_counts(folder: str) -> None:
    """TraceLens leaves out activities whose launch is not recorded; ours counts them. Compared without them."""
    with recorded_trace("kineto", folder, "trace.json.gz") as trace:
        rows = trace.columns("SELECT ts, ts + dur AS stop FROM kernels WHERE launch IS NOT NULL AND kind <> 'sync'")
        whole = next(r for r in step_budget(trace).records() if r["step"] is None)
    want = expected(folder)
    assert rows["stop"].max() - rows["ts"].min() == pytest.approx(want["total_time"] * 1e6, abs=250)
    if "recompute" not in folder:  # there, its busy time leaves out recomputed kernels too
        busy = Intervals.union_of(rows["ts"], rows["stop"]).total
        assert busy == pytest.approx(want["busy_time"] * 1e6, rel=1e-4)
    assert whole["total_ns"] > want["total_time"] * 1e6 + 250
