"""Causes of idleness: one small trace per mechanism, whole jobs against the simulator's truth, real recordings."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from idle_support import Causes, causes
from series import series
from stepscope.analyses.idle.idle_causes import idle_causes
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.ingest import Options, open_trace
from stepscope.simulate import random_job, simulate
from support import Facts, recorded_trace


def busy(f: Facts, ts: int, dur: int, launch: tuple[int, int], **more: object) -> int:
    return f.kernel(f"kernel{ts}", ts, dur, launch=launch, kind="compute", **more)  # type: ignore[arg-type]


def between(f: Facts, *, until: int = 1000, launch: int = 900, number: int = 0) -> None:
    """A step with a kernel in [100, 200) and one launched at `launch` that runs in [until, until + 100).

    Each further step of a number starts 2,000 later.
    """
    at = 2000 * number
    f.step(number, at, until + 100)
    f.host("op", "aten::first", at, 60)
    busy(f, at + 100, 100, (at, 60))
    busy(f, at + until, 100, (at + launch, 50))


#: Before the first kernel of `between`: its launch call is on time, then it takes 40 to start.
FIRST: Causes = {("host_dispatch", "runtime_call"): 60, ("launch_latency", "empty_queue"): 40}


def plus(*parts: Causes) -> Causes:
    """The sum of parts."""
    total: Counter[tuple[str, str | None]] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


LAUNCH: Causes = {("host_dispatch", "runtime_call"): 50, ("launch_latency", "empty_queue"): 50}


def test_a_thread_whose_tasks_another_one_launches_feeds_the_device() -> None:
    f = Facts()
    f.step(0, 0, 1100)
    f.host("op", "aten::mm", 0, 10, thread="2", external_id=7)
    busy(f, 100, 100, (0, 60), thread="3", external_id=7)
    f.host("sync", "aclrtSynchronizeStream", 100, 600, thread="2")
    busy(f, 1000, 100, (900, 50), thread="3")
    found = causes(f.trace())
    assert found["synchronisation", "blocked"] == 500


def test_what_the_launching_thread_did() -> None:
    cases: tuple[tuple[str, str, tuple[str, str | None]], ...] = (
        ("dataloader", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ("data_wait", None)),
        ("runtime", "cudaMalloc", ("allocation", None)),
        ("runtime", "hipFree", ("allocation", None)),
        ("runtime", "aclrtMallocAlign32", ("allocation", None)),
        ("runtime", "cudaFuncSetAttribute", ("host_dispatch", "runtime_call")),
        ("sync", "cudaEventQuery", ("host_dispatch", "runtime_call")),
        ("op", "aten::add", ("host_dispatch", "op_overhead")),
        ("gc", "gc", ("host_dispatch", "gc")),
        ("python", "train.py(3): step", ("host_dispatch", "python")),
        ("overhead", "Activity Buffer Request", ("profiler_overhead", None)),
    )
    f = Facts()
    for number, (category, name, _) in enumerate(cases):
        between(f, number=number)
        f.host(category, name, 2000 * number + 300, 400)
    trace = f.trace()
    # From the end of the first kernel to the launch are 700, of which 400 are spent on the event.
    for number, (*_, cause) in enumerate(cases):
        want = plus(FIRST, LAUNCH, {("host_dispatch", "python"): 300}, {cause: 400})
        assert causes(trace, number) == want


def test_lazy_loading_is_the_jobs_own_cost() -> None:
    f = Facts()
    between(f)
    f.host("overhead", "Lazy Function Loading", 300, 400)
    assert ("profiler_overhead", None) not in causes(f.trace())


def test_what_is_inside_the_loader_is_loading() -> None:
    f = Facts()
    between(f)
    f.host("dataloader", "enumerate(DataLoader)", 300, 400)
    f.host("op", "aten::stack", 350, 100)
    f.host("python", "fetch.py: collate", 460, 100)
    assert causes(f.trace())["data_wait", None] == 400


def test_blocked_until_the_device_drained_and_the_refill() -> None:
    f = Facts()
    between(f)
    f.host("sync", "cudaStreamSynchronize", 70, 140)
    f.host("op", "aten::add", 300, 400)
    want = {("synchronisation", "blocked"): 10, ("synchronisation", "refill"): 690 + 50}
    assert causes(f.trace()) == plus(FIRST, want, {("launch_latency", "empty_queue"): 50})


def test_loading_after_a_synchronisation_is_still_loading() -> None:
    f = Facts()
    between(f)
    f.host("sync", "cudaStreamSynchronize", 70, 140)
    f.host("dataloader", "enumerate(DataLoader)", 300, 400)
    got = causes(f.trace())
    assert got["data_wait", None] == 400
    assert got["synchronisation", "refill"] == 290 + 50


def test_synchronising_an_idle_device_needs_no_refill() -> None:
    f = Facts()
    between(f)
    f.host("sync", "cudaStreamSynchronize", 300, 20)
    got = causes(f.trace())
    assert got["synchronisation", "blocked"] == 20
    assert ("synchronisation", "refill") not in got


@pytest.mark.parametrize(
    ("kinds", "end", "blocks"),
    [(("pageable", "device"), 320, True), (("pinned", "device"), 320, False), (("pageable", "device"), 290, False)],
)
def test_copy_of_pageable_memory_blocks_the_host(kinds: tuple[str, str], end: int, blocks: bool) -> None:
    f = Facts()
    f.step(0, 0, 700)
    correlation = f.correlation()
    f.host("launch", "cudaMemcpyAsync", 0, end, correlation=correlation)
    copy = f.kernel("Memcpy HtoD", 100, 200, kind="copy", launch=correlation)
    f.row("copies", event=copy, direction="HtoD", src_kind=kinds[0], dst_kind=kinds[1])
    busy(f, 600, 100, (500, 100))
    got = causes(f.trace())
    assert (("synchronisation", "blocked") in got) == blocks
    assert got.get(("synchronisation", "refill"), 0) == (280 if blocks else 0)


def test_backward_is_launched_by_a_thread_of_its_own() -> None:
    f = Facts()
    f.step(0, 0, 1000)
    f.host("op", "aten::mse_loss", 0, 300)
    busy(f, 100, 50, (80, 10))
    f.host("op", "AddBackward0", 400, 100, thread="2")
    busy(f, 480, 20, (450, 30), thread="2")
    f.host("op", "MulBackward0", 600, 100, thread="2")
    busy(f, 700, 300, (680, 20), thread="2")
    got = causes(f.trace())
    # 150-300 the main thread's operator, 300-400 the hand-over, 400-450 the backward thread's operator;
    # 500-600 the engine between two operators of that thread, 600-680 the next operator.
    assert got["host_dispatch", "op_overhead"] == 80 + 150 + 50 + 100 + 80
    assert got["host_dispatch", "python"] == 100


def test_queued_behind_its_own_stream() -> None:
    f = Facts()
    f.step(0, 0, 400)
    busy(f, 100, 100, (0, 20))
    busy(f, 203, 100, (30, 20))
    got = causes(f.trace())
    assert got["launch_latency", "queued"] == 3


def test_queued_behind_another_stream() -> None:
    f = Facts()
    f.step(0, 0, 100_000)
    busy(f, 1_000, 50_000, (0, 900), stream="7")
    busy(f, 51_500, 10_000, (2_000, 900), stream="20")
    assert causes(f.trace())["dependency", "other_stream"] == 500


def test_queue_that_was_told_to_wait() -> None:
    f = Facts()
    f.step(0, 0, 100_000)
    busy(f, 1_000, 50_000, (0, 900), stream="7")
    f.host("runtime", "cudaStreamWaitEvent", 1_500, 100)
    busy(f, 51_500, 10_000, (2_000, 900), stream="20")
    assert causes(f.trace())["dependency", "event"] == 500


def test_start_long_after_the_launch_has_no_known_cause() -> None:
    f = Facts()
    f.step(0, 0, 2_000_000)
    busy(f, 1_000, 1_000, (0, 900))
    busy(f, 1_000_000, 1_000_000, (2_000, 1_000))
    assert causes(f.trace())["unknown", "delayed start"] == 997_000


def test_kernel_that_starts_during_its_launch_call() -> None:
    f = Facts()
    f.step(0, 0, 300)
    busy(f, 50, 250, (20, 100))
    assert causes(f.trace()) == {("host_dispatch", "python"): 20, ("host_dispatch", "runtime_call"): 30}


def test_launch_is_not_recorded() -> None:
    f = Facts()
    between(f)
    f.host("dataloader", "enumerate(DataLoader)", 1200, 50)
    f.kernel("lost", 1300, 100, kind="compute", stream="8")
    f.host("op", "aten::late", 1000, 400)
    got = causes(f.trace(), step=None)
    assert got["data_wait", None] == 50
    assert got["unknown", "launch not recorded"] == 150


def test_work_that_starts_while_the_host_is_blocked_was_queued() -> None:
    f = Facts()
    f.step(0, 0, 400)
    busy(f, 100, 50, (0, 20))
    f.host("sync", "cudaDeviceSynchronize", 30, 370)
    f.kernel("lost", 160, 100, kind="compute")
    got = causes(f.trace(), step=None)
    assert got == {("launch_latency", "queued"): 10}


def test_time_after_the_last_kernel_is_the_hosts() -> None:
    f = Facts()
    f.step(0, 0, 1000)
    busy(f, 10, 90, (0, 10))
    f.host("sync", "cudaDeviceSynchronize", 20, 90)
    f.host("dataloader", "enumerate(DataLoader)", 500, 100)
    got = causes(f.trace())
    assert got["synchronisation", "blocked"] == 10
    assert got["synchronisation", "refill"] == 390 + 400
    assert got["data_wait", None] == 100


def test_kernels_of_a_graph() -> None:
    f = Facts()
    f.step(0, 0, 500)
    correlation = f.correlation()
    f.host("launch", "cudaGraphLaunch", 0, 50, correlation=correlation)
    for ts in (100, 205, 310):
        f.kernel("node", ts, 100, launch=correlation, kind="compute")
    got = causes(f.trace())
    assert got["launch_latency", "queued"] == 10
    assert got["launch_latency", "empty_queue"] == 50


def test_no_host_events() -> None:
    f = Facts()
    f.kernel("a", 0, 100, kind="compute")
    f.kernel("b", 300, 100, kind="compute")
    assert causes(f.trace(), step=None) == {("unknown", "host not recorded"): 200}


def test_runtime_calls_alone_do_not_tell_what_came_between() -> None:
    f = Facts()
    busy(f, 100, 100, (0, 60))
    busy(f, 1000, 100, (900, 50))
    assert causes(f.trace())["host_dispatch", "other"] == 700


def test_each_device_by_itself() -> None:
    f = Facts()
    f.step(0, 0, 400)
    busy(f, 100, 300, (0, 50), device=0)
    busy(f, 200, 200, (60, 50), device=1, stream="0")
    trace = f.trace()
    assert causes(trace, device=0) == {("host_dispatch", "runtime_call"): 50, ("launch_latency", "empty_queue"): 50}
    assert causes(trace, device=1) == {
        ("host_dispatch", "python"): 10,
        ("host_dispatch", "runtime_call"): 100,
        ("launch_latency", "empty_queue"): 90,
    }


def test_overlapping_and_empty_kernels_make_no_gaps() -> None:
    f = Facts()
    f.step(0, 0, 300)
    busy(f, 0, 200, (0, 1))
    busy(f, 100, 200, (2, 1), stream="sycl queue")
    busy(f, 300, 0, (4, 1))
    assert causes(f.trace()) == {}


def test_nothing_on_the_device_has_a_duration() -> None:
    f = Facts()
    f.step(0, 0, 300)
    busy(f, 100, 0, (0, 50))
    assert causes(f.trace()) == {("host_dispatch", "runtime_call"): 50, ("host_dispatch", "python"): 250}


def test_gaps_are_counted_once_per_cause() -> None:
    f = Facts()
    between(f)
    f.host("op", "aten::add", 300, 100)
    f.host("op", "aten::mul", 500, 100)
    rows = {(r["step"], r["cause"], r["detail"]): r["count"] for r in idle_causes(f.trace()).records()}
    assert rows[0, "host_dispatch", "op_overhead"] == rows[0, "host_dispatch", "python"] == 1
    assert rows[0, "launch_latency", "empty_queue"] == 2
    assert rows[None, "launch_latency", "empty_queue"] == 1


def test_a_gap_over_two_steps_is_divided() -> None:
    f = Facts()
    f.step(0, 0, 500)
    f.step(1, 500, 600)
    busy(f, 0, 200, (0, 1))
    f.host("dataloader", "enumerate(DataLoader)", 400, 300)
    busy(f, 1000, 100, (900, 50))
    trace = f.trace()
    assert causes(trace, 0) == {("host_dispatch", "python"): 200, ("data_wait", None): 100}
    assert causes(trace, 1)["data_wait", None] == 200
    assert causes(trace, None)["data_wait", None] == 300


@pytest.mark.parametrize("seed", series(range(12), 2))
def test_agrees_with_the_simulator(seed: int, tmp_path: Path) -> None:
    """To a twentieth of each step: hand-overs between threads and the edges of the loader are not recorded.

    Without collections, which the simulator records only with stacks.
    """
    job = replace(random_job(seed), gc_interval_ops=0, load_ns=1_500_000, buffer_flush_ops=40)
    paths = simulate(job, tmp_path / "job")
    truth = json.loads(next(tmp_path.rglob("*truth.json")).read_text(encoding="utf-8"))
    for path, rank in zip(paths, truth["ranks"], strict=True):
        with open_trace(path, Options(cache=False)) as trace:
            found, budget = idle_causes(trace).records(), step_budget(trace).records()
        index = {row["number"]: row["step"] for row in budget if row["step"] is not None}
        for position, step in enumerate(rank["steps"]):
            want = step["tile" if position else "span"]
            theirs: Counter[str] = Counter()
            for name, ns in want["idle_causes"].items():
                theirs[_group(name)] += ns
            ours: Counter[str] = Counter()
            for row in found:
                if row["step"] == index[step["step"]]:
                    ours[row["cause"]] += row["total_ns"]
            wrong = sum(abs(ours[c] - theirs[c]) for c in set(ours) | set(theirs)) // 2
            assert wrong <= want["total_ns"] // 20, (ours, theirs)


def _group(name: str) -> str:
    return name.partition(":")[0].replace(" ", "_")


@pytest.mark.parametrize(("folder", "share"), [("v100_resnet50_workers0", 0.6), ("v100_resnet50_workers4", 0.0)])
def test_loading_in_the_main_thread_shows_as_data_wait(folder: str, share: float) -> None:
    """The same program with 0 and 4 loader processes: most idle time with 0 is loading, and next to none with 4."""
    with recorded_trace("kineto", folder, "trace.json.gz") as trace:
        got = causes(trace, step=None)
    found = got["data_wait", None] / sum(got.values())
    assert share <= found < share + 0.2
