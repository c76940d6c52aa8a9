"""Launch calls, device queues, short kernels and graphs."""

from __future__ import annotations

import pytest

from stepscope.analyses.host.launches import launches
from stepscope.analyses.idle.queue_depth import BUCKETS, queue_depth, queue_depth_timeline
from stepscope.analyses.idle.queues import CAPACITY, queues
from stepscope.analyses.kernels.graphs import graphs
from stepscope.analyses.kernels.short_kernels import short_kernels
from stepscope.model.errors import MissingInputError
from support import Facts


def test_delay_runs_from_the_end_of_the_call_to_the_start_of_its_work() -> None:
    f = Facts()
    f.kernel("k", 130, 50, launch=(0, 30))
    f.kernel("k", 300, 50, launch=(100, 40))
    f.kernel("k", 155, 5, launch=(150, 20))
    [row] = launches(f.trace()).records()
    assert row == {
        "name": "cudaLaunchKernel", "count": 3, "total_ns": 90, "mean_ns": 30, "median_ns": 30, "min_ns": 20,
        "max_ns": 40, "share": 1.0, "rank": 0, "activities": 3, "device_ns": 105, "without_activity": 0,
        "slow_calls": 0, "delay_median_ns": 100, "delay_mean_ns": 86, "delay_max_ns": 160, "late_starts": 0,
        "early_starts": 1, "short_work": 1, "blocked_calls": 0, "blocked_ns": 0,
    }  # fmt: skip


def test_thresholds_are_passed_not_met() -> None:
    f = Facts()
    f.kernel("k", 150_000, 50_000, launch=(0, 50_000))
    f.kernel("k", 450_002, 50_000, launch=(300_000, 50_001))
    [row] = launches(f.trace()).records()
    assert (row["slow_calls"], row["late_starts"], row["short_work"]) == (1, 1, 1)


def test_calls_without_work_and_calls_by_other_names_have_their_rows() -> None:
    f = Facts()
    f.host("launch", "cudaMemsetAsync", 0, 10)
    correlation = f.correlation()
    f.host("runtime", "runFunction", 20, 30, correlation=correlation)
    f.kernel("k", 60, 5, launch=correlation)
    f.host("runtime", "cudaFuncGetAttributes", 100, 500)
    run, memset = launches(f.trace()).records()
    assert (run["name"], run["activities"], run["delay_median_ns"]) == ("runFunction", 1, 10)
    assert (memset["name"], memset["without_activity"], memset["delay_median_ns"]) == ("cudaMemsetAsync", 1, None)


def test_a_launch_without_duration_counts() -> None:
    f = Facts()
    correlation = f.correlation()
    f.host("launch", "cudaLaunchKernel", 0, None, correlation=correlation)
    f.kernel("k", 10, 5, launch=correlation)
    [row] = launches(f.trace()).records()
    assert (row["count"], row["total_ns"], row["delay_max_ns"], row["share"]) == (1, 0, 10, 0.0)


def test_queue_holds_what_is_launched_and_not_started() -> None:
    f = Facts()
    f.kernel("k", 100, 50, launch=(0, 5))
    f.kernel("k", 150, 50, launch=(20, 5))
    f.kernel("k", 200, 50, launch=(200, 5))  # starts at once: never waits
    f.kernel("k", 40, 5, launch=(30, 5), stream="default")
    first, second = queue_depth(f.trace()).records()
    assert first == {
        "rank": 0, "device": 0, "stream": "7", "track": first["track"], "launches": 3, "activities": 3, "max": 2,
        "mean": (100 + 130) / 200, "total_ns": 200, "empty_ns": 50, "full_ns": 0, "full": 0.0,
    }  # fmt: skip
    assert (second["stream"], second["launches"], second["max"], second["total_ns"]) == ("default", 1, 1, 10)


def test_regression_hta_all_streams_have_a_queue_not_only_the_last() -> None:
    f = Facts()
    for device in (0, 1):
        for stream in ("0", "7", "20"):
            f.kernel("k", 100, 5, launch=(0, 5), device=device, stream=stream)
    rows = queue_depth(f.trace()).records()
    assert [(row["device"], row["stream"]) for row in rows] == [(d, s) for d in (0, 1) for s in ("0", "7", "20")]


def test_regression_hta_a_graph_is_one_entry_of_its_queue() -> None:
    f = Facts()
    correlation = f.correlation()
    f.host("launch", "cudaGraphLaunch", 0, 10, correlation=correlation)
    for number in range(5):
        f.kernel("k", 40 + 10 * number, 10, launch=correlation)
    f.kernel("k", 200, 10, launch=(20, 5))
    trace = f.trace()
    [row] = queue_depth(trace).records()
    assert (row["launches"], row["activities"], row["max"], row["empty_ns"]) == (2, 6, 2, 0)
    assert row["mean"] == (40 + 180) / 200
    [graph, single] = launches(trace).records()
    assert (graph["activities"], graph["delay_max_ns"], single["activities"]) == (5, 30, 1)


@pytest.mark.parametrize(("number", "blocked"), [(CAPACITY, 0), (CAPACITY + 1, 1), (CAPACITY + 3, 3)])
def test_a_launch_blocks_when_the_queue_is_full(number: int, blocked: int) -> None:
    f = Facts()
    for i in range(number):
        f.kernel("k", 1_000_000 + 10 * i, 10, launch=(100 * i, 50))
    trace = f.trace()
    [row] = launches(trace).records()
    assert (row["blocked_calls"], row["blocked_ns"]) == (blocked, 50 * blocked)
    [queue] = queue_depth(trace).records()
    assert queue["max"] == number
    assert queue["full_ns"] == 1_000_000 + 10 * (number - CAPACITY) - 100 * (CAPACITY - 1)


def test_timeline_has_the_mean_of_the_summary_and_its_maximum() -> None:
    f = Facts()
    for i in range(300):
        f.kernel("k", 5_000 + 37 * i, 30, launch=(20 * i, 5))
    trace = f.trace()
    [row] = queue_depth(trace).records()
    parts = queue_depth_timeline(trace).records()
    assert 0 < len(parts) <= BUCKETS
    assert sum(part["dur"] for part in parts) == row["total_ns"]
    assert max(part["max"] for part in parts) == row["max"]
    area = sum(part["mean"] * part["dur"] for part in parts)
    assert area / row["total_ns"] == pytest.approx(row["mean"])


def test_work_that_seems_to_start_before_its_launch_never_waits() -> None:
    f = Facts()
    f.kernel("k", 10, 5, launch=(50, 5))
    f.kernel("k", 80, 5, launch=(60, 5))
    trace = f.trace()
    [queue] = queues(trace)
    assert queue.depth()[1].tolist() == [1, 0]
    [row] = launches(trace).records()
    assert (row["delay_mean_ns"], row["early_starts"]) == (7, 1)


def test_short_kernels_fall_into_ranges_that_cover_all() -> None:
    f = Facts()
    f.kernel("k", 0, 999, launch=(0, 5))
    f.kernel("k", 10_000, 1_000, launch=(10, 7))
    f.kernel("k", 20_000, 9_999, launch=(20, 9))
    f.kernel("k", 40_000, 10_000)
    f.kernel("k", 60_000, 5_000_000)
    f.kernel("copy", 0, 500, kind="copy", stream="8")
    rows = {row["from_ns"]: row for row in short_kernels(f.trace()).records()}
    assert {start: row["count"] for start, row in rows.items() if row["count"]} == {
        0: 1, 1_000: 1, 9_000: 1, 10_000: 1, 1_000_000: 1
    }  # fmt: skip
    assert [rows[start]["launch_ns"] for start in (0, 1_000, 9_000, 10_000)] == [5, 7, 9, 0]
    assert rows[1_000_000]["to_ns"] is None
    assert sum(row["total_ns"] for row in rows.values()) == 999 + 1_000 + 9_999 + 10_000 + 5_000_000
    assert sum(row["share_of_count"] for row in rows.values()) == pytest.approx(1)
    assert sum(row["share_of_time"] for row in rows.values()) == pytest.approx(1)


def test_the_call_of_a_graph_counts_for_one_of_its_kernels() -> None:
    f = Facts()
    correlation = f.correlation()
    f.host("launch", "cudaGraphLaunch", 0, 10, correlation=correlation)
    f.kernel("k", 40, 500, launch=correlation)
    f.kernel("k", 600, 2_500, launch=correlation)
    assert sum(short_kernels(f.trace()).column("launch_ns")) == 10


def test_replays_with_equal_kernels_are_of_one_graph() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 60)
    for number, names in enumerate((["a", "b"], ["b", "a"], ["a", "c"])):
        correlation = f.correlation()
        f.host("launch", "cudaGraphLaunch", 50 * number, 10, correlation=correlation)
        for k, name in enumerate(names):
            f.kernel(name, 1000 * (number + 1) + 40 * k, 30, launch=correlation)
    f.kernel("outside", 10_000, 60, launch=(300, 5))
    first, second = graphs(f.trace()).records()
    assert first == {
        "name": "cudaGraphLaunch", "count": 2, "total_ns": 120, "mean_ns": 60, "median_ns": 60, "min_ns": 60,
        "max_ns": 60, "share": 120 / 180, "rank": 0, "graph": 0, "kernels": 2, "span_ns": 140, "host_ns": 20,
        "unattributed": 0, "unattributed_ns": 0, "device_share": 0.5, "unattributed_share": 0.0,
    }  # fmt: skip
    assert (second["graph"], second["unattributed"], second["unattributed_share"]) == (1, 2, 0.25)


def test_a_job_without_graphs_has_no_rows() -> None:
    f = Facts()
    f.kernel("k", 100, 5, launch=(0, 5))
    assert len(graphs(f.trace())) == 0


def test_without_runtime_calls_launches_and_queues_abstain() -> None:
    f = Facts()
    f.kernel("k", 0, 10)
    trace = f.trace()
    for run in (launches, queue_depth, queue_depth_timeline):
        with pytest.raises(MissingInputError, match="no runtime calls"):
            run(trace)


def test_without_device_activity_all_abstain() -> None:
    f = Facts()
    f.host("launch", "cudaLaunchKernel", 0, 10)
    trace = f.trace()
    for run in (launches, queue_depth, queue_depth_timeline, short_kernels, graphs):
        with pytest.raises(MissingInputError, match="no device activity"):
            run(trace)
