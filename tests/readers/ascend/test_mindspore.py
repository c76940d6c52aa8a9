"""A graph of MindSpore's as msprof shows it: iterations are marks on a lane of the device, names its places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import COMM, HARDWARE, PROCESS, at, flow, kernel_rows, named, span, write_csv

from readers.conformance import open_fresh
from stepscope.analyses.registry import table_of
from stepscope.analyses.steps.phases import ANALYSES
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


def test_kernels_say_by_their_names_in_which_phase_they_are(tmp_path: Path) -> None:
    def placed(name: str, ts: float) -> dict[str, Any]:
        return span(HARDWARE, 2, name, ts, 40, args={"Task Type": "AI_CORE", "Stream Id": 2})

    path = tmp_path / "msprof_0_2_2.json"
    more = [
        placed("Gradients/Default/network/fc-Dense/gradMatMul-expand/MatMul-op3", 380),
        placed("Default/grad_reducer-DistributedGradReducer/TransData-op4", 1001),
        placed("Default/optimizer-Momentum/ApplyMomentum-op5", 1050),
        span(HARDWARE, LANE, "Iteration Refresh 2", 400, 700, cat="Iteration Refresh"),
    ]
    path.write_text(json.dumps(events(*more)))
    with open_fresh(path) as trace:
        rows = table_of(ANALYSES[0], trace).records()
    # The all-reduce began after a kernel of the backward pass, 20 µs before whose end; the update waits for it.
    assert {row["phase"]: (row["host_ns"], row["device_ns"]) for row in rows} == {
        "forward": (0, 250_000), "backward": (0, 620_000), "optimizer": (700_000, 80_000), "rest": (300_000, 0),
    }  # fmt: skip


def test_copies_of_a_collective_are_its_parts(tmp_path: Path) -> None:
    """Older releases of CANN call them as any copy; those of streams that compute, or have a direction, are copies."""

    def task(stream: int, name: str, kind: str, ts: float, **args: Any) -> dict[str, Any]:
        return span(HARDWARE, stream, name, ts, 50, args={"Task Type": kind, "Stream Id": stream, **args})

    path = tmp_path / "msprof_0_2_2.json"
    more = [
        *named(HARDWARE, "Ascend Hardware", t2="Stream 2", t3="Stream 3", t4="Stream 4"),
        task(3, "NOTIFY_WAIT", "NOTIFY_WAIT", 420), task(3, "MEMCPY_ASYNC", "MEMCPY_ASYNC", 500),
        task(3, "MEMCPY_ASYNC", "MEMCPY_ASYNC", 1010),  # after the collective
        task(3, "MEMCPY_ASYNC", "MEMCPY_ASYNC", 800, **{"memcpy direction": "host to device", "data size(Byte)": 64}),
        task(2, "MEMCPY_ASYNC", "MEMCPY_ASYNC", 600), task(4, "MEMCPY_ASYNC", "MEMCPY_ASYNC", 700),
        task(2, "EVENT_RESET", "EVENT_RESET", 900),
    ]  # fmt: skip
    path.write_text(json.dumps(events(*more)))
    with open_fresh(path) as trace:
        copies = trace.rows("SELECT ts FROM kernels WHERE kind = 'copy' ORDER BY ts")
        parts = trace.rows("SELECT kind FROM comm_tasks ORDER BY event")
        waits = trace.rows("SELECT name FROM kernels WHERE kind = 'sync' ORDER BY ts")
    assert [row["ts"] - copies[0]["ts"] for row in copies] == [0, 100_000, 200_000, 410_000]
    assert [row["kind"] for row in parts] == ["reduce", "wait", "copy"]
    assert [row["name"] for row in waits] == ["NOTIFY_WAIT", "EVENT_RESET"]


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


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Notify Wait", "sync"), ("EVENT_RECORD", "sync"), ("EVENT_RESET", "sync"), ("SDMA", "part"),
     ("MEMCPY_ASYNC", "copy"), ("PROFILING_ENABLE", "overhead"), ("Conv2D", "compute"),
     ("aclnnNotify_WaitAiCore_Wait", "compute")],
)  # fmt: skip
def test_names_tell_what_tasks_are_whose_type_is_not_recorded(name: str, kind: str) -> None:
    assert device_kind("", name) == kind


def test_reductions_of_a_link_are_parts_of_collectives() -> None:
    assert device_kind("REDUCE_ASYNC_V2", "REDUCE_ASYNC_V2") == "part"
    assert device_kind("AI_CORE", "ReduceSum") == "compute"


def framework_events() -> list[dict[str, Any]]:
    """As MindSpore's profiler writes them: its process is number 1, its threads those of the system, no categories.

    The profiled process is number 77, as in a container.
    """
    cann, hardware, thread = (77 << 10) | (7 << 5) | 31, (77 << 10) | (13 << 5) | 5, 7701
    launch = {"Sequence number": 3, "Fwd thread id": 0, "Input Dims": "6,2;;", "Input type": "Float16"}
    return [
        *named(1, "MindSpore", **{f"t{thread}": f"Thread {thread}"}),
        *named(3, "Scope Layer", t0="Thread 0"),
        *named(cann, "CANN", **{f"t{thread}": f"Thread {thread}"}),
        *named(hardware, "Ascend Hardware", t2="Stream 2"),
        span(1, thread, "ProfilerStep#4", 0, 1000),
        span(1, thread, "Dataset::Pipeline", 5, 20, args={"Sequence number": -1}),
        span(1, thread, "PynativeFramework::LaunchTask::MatMulExt", 100, 60, args=launch),
        span(cann, thread, "Node@launch", 110, 20, args={"level": "node", "connection_id": 21}),
        flow("s", "async_npu", at(200), 1, thread, 100),
        flow("f", "async_npu", at(200), hardware, 2, 200),
        span(hardware, 2, "aclnnMatmul_MatMulV3", 200, 80,
             args={"Task Type": "AI_CORE", "Physic Stream Id": 2, "connection_id": 21}),
        span(3, 0, "Default", 200, 80),
    ]  # fmt: skip


def test_what_the_framework_did_has_no_category(tmp_path: Path) -> None:
    output = tmp_path / "host_77_20240101120000000_ascend_ms" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "trace_view.json").write_text(json.dumps(framework_events()))
    info = {"profiler_parameters": {"profiler_level": "Level0", "with_stack": False}, "ms_version": "2.6.0"}
    (output.parent / "profiler_info_2.json").write_text(json.dumps(info))
    with open_fresh(tmp_path) as trace:
        kernels = trace.rows(
            "SELECT k.device, k.step, o.name AS op, l.name AS launch FROM kernels k LEFT JOIN events o ON o.id = k.op "
            "LEFT JOIN events l ON l.id = k.launch"
        )
        assert kernels == [
            {"device": 5, "step": 4, "op": "PynativeFramework::LaunchTask::MatMulExt", "launch": "Node@launch"}
        ]
        calls = trace.rows(
            "SELECT name, category FROM events JOIN tracks USING (track) WHERE kind = 'host' ORDER BY ts"
        )
        assert [(row["name"].rpartition(":")[2], row["category"]) for row in calls] == [
            ("ProfilerStep#4", "step"), ("Pipeline", "other"), ("MatMulExt", "op"), ("Node@launch", "launch"),
        ]  # fmt: skip
        assert trace.rows("SELECT shapes FROM op_inputs WHERE shapes IS NOT NULL") == [{"shapes": "[[6, 2], [], []]"}]
        [recording] = trace.recordings.values()
        assert recording.rank == 2
        assert {key: recording.attributes[key] for key in ("framework", "profiler_level", "ms_version")} == {
            "framework": "mindspore", "profiler_level": "Level0", "ms_version": "2.6.0",
        }  # fmt: skip


def test_its_tables_call_steps_otherwise(tmp_path: Path) -> None:
    output = tmp_path / "host_77_20240101120000000_ascend_ms" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    own = [{"Step ID" if name == "Step Id" else name: cell for name, cell in row.items()} for row in kernel_rows()]
    write_csv(output / "kernel_details.csv", own)
    with open_fresh(tmp_path) as trace:
        assert trace.rows("SELECT number FROM steps") == [{"number": 7}]
        assert trace.scalar("SELECT count(*) FROM kernel_metrics") == 0
