"""Waits of the host for the device."""

from __future__ import annotations

import pytest

from stepscope.analyses.host.synchronisations import synchronisations
from stepscope.model.errors import MissingInputError
from support import Facts


def test_a_wait_is_split_into_busy_and_idle_and_has_a_refill() -> None:
    f = Facts()
    f.host("annotation", "loss", 0, 300)
    op = f.host("op", "aten::item", 90, 120)
    f.row("op_inputs", event=op, stack="torch/_tensor.py(3): item;train.py(7): step;train.py(1): main")
    f.kernel("k", 50, 100, launch=(10, 5))
    f.host("sync", "cudaStreamSynchronize", 100, 100)
    f.kernel("k", 260, 10, launch=(240, 5))
    [row] = synchronisations(f.trace()).records()
    assert row == {
        "name": "cudaStreamSynchronize", "count": 1, "total_ns": 100, "mean_ns": 100, "median_ns": 100, "min_ns": 100,
        "max_ns": 100, "share": 1.0, "rank": 0, "kind": "synchronise", "operator": "aten::item", "annotation": "loss",
        "line": "train.py(7): step", "busy_ns": 50, "idle_ns": 50, "refill_ns": 60,
    }  # fmt: skip


def test_no_refill_where_the_device_goes_on_or_nothing_follows() -> None:
    f = Facts()
    f.kernel("k", 50, 500, launch=(10, 5))
    f.host("sync", "cudaEventSynchronize", 100, 100)
    f.host("sync", "cudaDeviceSynchronize", 400, 200)
    rows = {row["name"]: row for row in synchronisations(f.trace()).records()}
    event, whole = rows["cudaEventSynchronize"], rows["cudaDeviceSynchronize"]
    assert (event["busy_ns"], event["idle_ns"], event["refill_ns"]) == (100, 0, 0)
    assert (whole["busy_ns"], whole["idle_ns"], whole["refill_ns"]) == (150, 50, 0)


def test_a_refill_ends_at_the_next_wait() -> None:
    f = Facts()
    f.kernel("k", 0, 50, launch=(0, 5))
    f.host("sync", "cudaStreamSynchronize", 40, 20)
    f.host("sync", "cudaDeviceSynchronize", 70, 10)
    f.kernel("k", 100, 50, launch=(90, 5))
    rows = synchronisations(f.trace()).records()
    assert {row["name"]: row["refill_ns"] for row in rows} == {"cudaStreamSynchronize": 10, "cudaDeviceSynchronize": 20}


def test_before_the_first_activity_a_refill_ends_at_its_launch() -> None:
    """A kernel that starts long after its launch follows work that was launched before the recording began."""
    f = Facts()
    f.host("sync", "cudaEventSynchronize", 0, 20)
    f.kernel("k", 150_000, 50, launch=(90, 5))
    f.kernel("k", 150_060, 50, launch=(190, 5))
    [row] = synchronisations(f.trace()).records()
    assert row["refill_ns"] == 70


def test_work_of_the_host_after_a_wait_is_no_refill() -> None:
    """Relaunching takes microseconds; 40 ms without a call of the runtime are the program's own work."""
    f = Facts()
    f.kernel("k", 0, 50_000, launch=(0, 5_000))
    f.host("sync", "cudaStreamSynchronize", 20_000, 40_000)
    f.kernel("k", 40_070_000, 50_000, launch=(40_060_000, 5_000))
    f.kernel("k", 40_200_000, 50_000, launch=(40_150_000, 5_000))
    [row] = synchronisations(f.trace()).records()
    assert row["refill_ns"] == 40_070_000 - 40_060_000


def test_queries_and_waits_of_queues_do_not_block_the_host() -> None:
    f = Facts()
    f.kernel("k", 50, 100, launch=(10, 5))
    f.host("sync", "cudaEventQuery", 100, 10)
    f.host("runtime", "cudaStreamWaitEvent", 120, 10)
    f.kernel("Stream Wait Event", 150, 100, kind="sync")
    assert len(synchronisations(f.trace())) == 0


def test_a_call_inside_another_is_not_counted_apart() -> None:
    f = Facts()
    f.kernel("k", 50, 100, launch=(10, 5))
    f.host("sync", "cudaDeviceSynchronize", 100, 100)
    f.host("sync", "cuCtxSynchronize", 110, 80)
    assert synchronisations(f.trace()).column("name") == ["cudaDeviceSynchronize"]


@pytest.mark.parametrize(("name", "kind", "waits"), [
    ("cudaMemcpyAsync", "pageable", True), ("cudaMemcpyAsync", "pinned", False), ("hipMemcpyWithStream", "pinned", True)
])  # fmt: skip
def test_copies_that_the_host_waits_for_count_too(name: str, kind: str, waits: bool) -> None:
    f = Facts()
    f.host("op", "aten::copy_", 0, 200)
    correlation = f.correlation()
    f.host("launch", name, 10, 150, correlation=correlation)
    event = f.kernel("Memcpy DtoH", 100, 50, kind="copy", launch=correlation)
    f.row("copies", event=event, direction="DtoH", bytes=4, src_kind="device", dst_kind=kind)
    found = [
        (r["name"], r["kind"], r["operator"], r["total_ns"], r["busy_ns"])
        for r in synchronisations(f.trace()).records()
    ]
    assert found == ([(name, "copy", "aten::copy_", 150, 50)] if waits else [])


def test_callers_and_python_lines_have_rows_of_their_own() -> None:
    f = Facts()
    f.host("python", "train.py(1): main", 0, 1000)
    f.host("python", "torch/cuda/__init__.py(8): synchronize", 10, 100)
    f.host("sync", "cudaDeviceSynchronize", 20, 50)
    f.host("python", "log.py(5): log", 200, 300)
    for ts in (210, 300):
        f.host("op", "aten::item", ts, 50)
        f.host("sync", "cudaDeviceSynchronize", ts + 5, 20)
    f.host("sync", "cudaDeviceSynchronize", 2000, 5)
    rows = synchronisations(f.trace()).records()
    assert [(r["operator"], r["line"], r["count"], r["total_ns"]) for r in rows] == [
        (None, "train.py(1): main", 1, 50), ("aten::item", "log.py(5): log", 2, 40), (None, None, 1, 5)
    ]  # fmt: skip


def test_the_device_waited_for_is_the_one_that_finished_last() -> None:
    f = Facts()
    f.kernel("k", 0, 150, launch=(0, 5), device=0)
    f.kernel("k", 0, 195, launch=(6, 3), device=1)
    f.host("sync", "cudaDeviceSynchronize", 100, 100)
    f.kernel("k", 210, 10, launch=(203, 5), device=0)
    f.kernel("k", 260, 10, launch=(240, 5), device=1)
    [row] = synchronisations(f.trace()).records()
    assert (row["busy_ns"], row["idle_ns"], row["refill_ns"]) == (95, 5, 60)


def test_a_wait_without_duration_and_one_before_any_work() -> None:
    f = Facts()
    f.host("sync", "cudaDeviceSynchronize", 0, 10)
    f.host("sync", "cudaDeviceSynchronize", 20, None)
    f.kernel("k", 100, 10, launch=(50, 5))
    [row] = synchronisations(f.trace()).records()
    assert (row["count"], row["total_ns"], row["busy_ns"], row["idle_ns"]) == (2, 10, 0, 10)
    assert row["refill_ns"] == 10 + 30  # up to the other wait, and up to the launch


def test_without_device_activity_only_the_wait_is_known() -> None:
    f = Facts()
    f.host("sync", "cudaDeviceSynchronize", 0, 10)
    [row] = synchronisations(f.trace()).records()
    assert (row["total_ns"], row["busy_ns"], row["idle_ns"], row["refill_ns"]) == (10, None, None, None)


def test_without_runtime_calls_the_table_abstains() -> None:
    f = Facts()
    f.host("op", "aten::item", 0, 10)
    with pytest.raises(MissingInputError, match="no runtime calls"):
        synchronisations(f.trace())


def test_a_wait_that_a_thread_of_the_driver_records_too_counts_once() -> None:
    f = Facts()
    f.kernel("k", 50, 100, launch=(10, 5))
    f.host("sync", "synchronizeStream", 100, 100, correlation=77)
    f.host("sync", "synchronize", 110, 80, correlation=77, thread="submission queue")
    f.host("sync", "synchronize", 300, 10, correlation=78, thread="submission queue")
    rows = synchronisations(f.trace()).records()
    assert [(row["name"], row["total_ns"]) for row in rows] == [("synchronizeStream", 100), ("synchronize", 10)]
