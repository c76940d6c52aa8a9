"""A graph of MindSpore's as msprof shows it: iterations are marks on a lane of the device, names its places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import COMM, HARDWARE, PROCESS, named, span

from readers.conformance import open_fresh
from stepscope.readers.ascend.vocabulary import device_kind, operation

LANE = 10036


def kernel(name: str, ts: float, dur: float) -> dict[str, Any]:
    return span(HARDWARE, 2, f"Default/network/{name}", ts, dur, args={"Task Type": "AI_CORE", "Stream Id": 2})


def events(*more: dict[str, Any]) -> list[dict[str, Any]]:
    reduce = {"Task Type": "REDUCE_ASYNC_V2", "Stream Id": 3}
    return [
        *named(HARDWARE, "Ascend Hardware", t2="Stream 2", t3="Stream 3"),
        {"ph": "M", "name": "thread_name", "pid": HARDWARE, "tid": LANE, "args": {"name": "Step Trace(Model ID:2)"}},
        span(HARDWARE, LANE, "Iteration 2", 100, 1000, cat="Iteration Time", args={"Iteration ID": 2}),
        span(HARDWARE, LANE, "FP_BP Time 2", 100, 300, cat="FP_BP Time", args={"Iteration ID": 2}),
        span(HARDWARE, LANE, "Reduce_2_0", 400, 600, cat="Reduce", args={"Iteration ID": 2}),
        kernel("conv1-Conv2d/Conv2D-op1", 110, 100),
        kernel("fc-Dense/MatMul-op2", 220, 150),
        span(HARDWARE, 3, "REDUCE_ASYNC_V2", 450, 300, args=reduce),
        *named(COMM, "HCCL", t0="Communication Kernel"),
        span(COMM, 0, "Default/AllReduce-op534_0", 400, 600),
        *more,
    ]


def test_marks_of_the_device_are_steps_and_no_kernels(tmp_path: Path) -> None:
    path = tmp_path / "msprof_0_2_2.json"
    path.write_text(json.dumps(events()))
    with open_fresh(path) as trace:
        kernels = trace.rows("SELECT name, kind FROM kernels ORDER BY ts")
        steps = trace.rows("SELECT number, dur FROM steps")
        marks = trace.rows("SELECT name FROM events WHERE category = 'annotation' ORDER BY ts, name")
        collectives = trace.rows("SELECT collective FROM collectives")
        [recording] = trace.recordings.values()
    assert [(row["name"].rpartition("/")[2], row["kind"]) for row in kernels] == [
        ("Conv2D-op1", "compute"), ("MatMul-op2", "compute"), ("AllReduce-op534_0", "comm"),
    ]  # fmt: skip
    assert steps == [{"number": 2, "dur": 1_000_000}]
    assert [row["name"] for row in marks] == ["FP_BP Time 2", "Reduce_2_0"]
    assert collectives == [{"collective": "all_reduce"}]
    assert recording.attributes["framework"] == "mindspore"


def test_steps_of_the_framework_come_first(tmp_path: Path) -> None:
    path = tmp_path / "trace_view.json"
    marked = span(PROCESS, PROCESS, "ProfilerStep#7", 90, 1100, cat="cpu_op", args={"Sequence number": -1})
    path.write_text(json.dumps(events(*named(PROCESS, "Python"), marked)))
    with open_fresh(path) as trace:
        assert trace.rows("SELECT number FROM steps") == [{"number": 7}]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Default/grads/AllGather-op3", "all_gather"), ("Default/Conv2D-op1", "other"), ("AllReduce-op1", "other"),
    ],
)  # fmt: skip
def test_collectives_are_known_by_their_place_in_the_graph(name: str, told: str) -> None:
    assert operation(name) == (told, None, None)


def test_reductions_of_a_link_are_parts_of_collectives() -> None:
    assert device_kind("REDUCE_ASYNC_V2", "REDUCE_ASYNC_V2") == "part"
    assert device_kind("AI_CORE", "ReduceSum") == "compute"
