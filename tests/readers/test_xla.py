"""Traces of JAX and TensorFlow, whose device work has no category."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readers.conformance import open_fresh
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.host.compiling import compilations
from stepscope.signals.shared.program import program
from stepscope.signals.shared.ran_on import ran_on


def lane(pid: int, process: str, lanes: dict[int, str]) -> list[dict[str, Any]]:
    threads = [{"ph": "M", "pid": pid, "tid": t, "name": "thread_name", "args": {"name": n}} for t, n in lanes.items()]
    return [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": process}}, *threads]


def span(name: str, ts: int, dur: int, pid: int, tid: int, **args: str) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args}


def opened(tmp_path: Path, events: list[dict[str, Any]]) -> Trace:
    path = tmp_path / "vm.trace.json"
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}), encoding="utf-8")
    return open_fresh(path)


def test_streams_of_a_gpu_hold_its_work_and_modules_are_steps(tmp_path: Path) -> None:
    events = lane(1, "/device:GPU:0", {1: "Stream #20(Compute,MemcpyH2D)", 2: "XLA Ops", 3: "XLA Modules"})
    events += lane(701, "/host:CPU", {10: "python"})
    for number in range(4):
        at = 1_000 * number
        events += [
            span("PjitFunction(train_step)", at, 50, 701, 10),
            span("loop_fusion_2", at + 100, 200, 1, 1),
            span("MemcpyH2D", at + 300, 100, 1, 1),
            span("ncclDevKernel_AllReduce", at + 400, 100, 1, 1),
            span("fusion.2", at + 100, 200, 1, 2),
            span("jit_train_step(7)", at + 100, 400, 1, 3),
        ]
    trace = opened(tmp_path, events)
    assert trace.rows("SELECT kind, count(*) AS n FROM kernels GROUP BY kind ORDER BY kind") == [
        {"kind": "comm", "n": 4},
        {"kind": "compute", "n": 4},
        {"kind": "copy", "n": 4},
    ]
    assert trace.rows("SELECT DISTINCT device, stream FROM tracks WHERE kind = 'device'") == [
        {"device": 0, "stream": "20"}
    ]
    assert trace.scalar("SELECT count(*) FROM steps") == 4
    assert trace.scalar("SELECT count(*) FROM health WHERE code = 'not-a-profile'") == 0
    assert trace.recordings[0].reader == "chrome"
    assert Signals.of(trace)(program).framework == "jax"


def test_of_a_tpu_its_operations_are_the_work_and_recorded_steps_are_steps(tmp_path: Path) -> None:
    events = lane(3, "/device:TPU:1", {1: "Steps", 2: "XLA Modules", 3: "XLA Ops"})
    for number in range(3):
        at = 1_000 * number
        events += [
            span(str(number + 5), at, 900, 3, 1),
            span("jit_step(9)", at, 900, 3, 2),
            span("fusion.4", at, 600, 3, 3),
            span("all-reduce.3", at + 600, 300, 3, 3),
        ]
    trace = opened(tmp_path, events)
    assert trace.rows("SELECT kind, count(*) AS n FROM kernels GROUP BY kind ORDER BY kind") == [
        {"kind": "comm", "n": 3},
        {"kind": "compute", "n": 3},
    ]
    assert trace.scalar("SELECT count(*) FROM steps") == 3
    assert trace.rows("SELECT DISTINCT collective FROM collectives") == [{"collective": "all_reduce"}]


@pytest.mark.parametrize(("process", "name"), [("/host:CPU", "Stream #1"), ("/device:GPU:0", "Source code"), ("", "")])
def test_other_lanes_are_none_of_a_device(process: str, name: str, tmp_path: Path) -> None:
    trace = opened(tmp_path, [*lane(1, process, {1: name}), span("work", 0, 10, 1, 1), span("more", 20, 10, 1, 1)])
    assert trace.scalar("SELECT count(*) FROM kernels") == 0
    assert trace.scalar("SELECT count(*) FROM health WHERE code = 'not-a-profile'") == 1


def on_processor(*, marked: bool) -> list[dict[str, Any]]:
    """Four steps of JAX on a processor, as its profiler writes them: frames, ranges, and operators on a pool."""
    events = lane(701, "/host:CPU", {10: "python", 11: "tf_XLAPjRtCpuClient/7"})
    for number in range(4):
        at = 10_000 * number
        mark = {"step_num": str(number + 3)} if marked else {}
        events += [
            span("train", at, 9_000, 701, 10, **mark),
            span("PjitFunction(step)", at + 10, 500, 701, 10),
            span("$api.py:2479 block_until_ready", at + 600, 8_000, 701, 10),
            span("ThunkExecutor::Execute", at + 700, 7_000, 701, 11),
            span("dot.3", at + 800, 5_000, 701, 11, hlo_module="jit_step", hlo_op="dot.3"),
            span("fusion", at + 5_900, 1_000, 701, 11, hlo_op="fusion"),
        ]
    stop = [
        span("$profiler.py:307 trace", 39_500, 900, 701, 10),
        span("$profiler.py:271 stop_trace", 39_600, 700, 701, 10),
    ]
    return [*events, *stop, {}]


def test_names_and_arguments_tell_what_a_host_of_xla_does(tmp_path: Path) -> None:
    trace = opened(tmp_path, on_processor(marked=True))
    rows = trace.rows("SELECT DISTINCT name, category::VARCHAR AS category FROM events ORDER BY name")
    assert {row["name"]: row["category"] for row in rows} == {
        "$api.py:2479 block_until_ready": "python",
        "$profiler.py:271 stop_trace": "python",
        "$profiler.py:307 trace": "python",
        "PjitFunction(step)": "annotation",
        "ThunkExecutor::Execute": "annotation",
        "dot.3": "op",
        "fusion": "op",
        "train #3": "step",
        "train #4": "step",
        "train #5": "step",
        "train #6": "step",
    }
    assert trace.rows("SELECT number, dur FROM steps ORDER BY ts") == [
        {"number": number, "dur": 9_000_000} for number in (3, 4, 5, 6)
    ]
    found = Signals.of(trace)(ran_on)
    assert (found.where, found.mark, found.sure) == ("cpu", "dot.3", True)
    # The list of events ends with an empty object, which stands for none.
    # Frames of the profiler's own stop end the recording.
    codes = ("processor-alone", "no-device", "not-a-profile", "events-foreign", "frames-unclosed")
    assert [row["code"] for row in trace.rows(f"SELECT code FROM health WHERE code IN {codes}")] == ["processor-alone"]


def test_ranges_without_the_number_of_a_step_are_none(tmp_path: Path) -> None:
    trace = opened(tmp_path, on_processor(marked=False))
    assert trace.scalar("SELECT count(*) FROM events WHERE category = 'step'") == 0
    assert trace.scalar("SELECT count(*) FROM events WHERE name = 'train' AND category = 'annotation'") == 4


def test_marks_of_the_host_are_ranges_where_a_device_has_a_lane_of_steps(tmp_path: Path) -> None:
    device = lane(3, "/device:TPU:0", {1: "Steps", 2: "XLA Ops"})
    for number in range(4):
        at = 10_000 * number
        device += [span(str(number + 3), at, 8_500, 3, 1), span("fusion.4", at + 100, 8_000, 3, 2)]
    trace = opened(tmp_path, [*device, *on_processor(marked=True)])
    assert trace.scalar("SELECT count(*) FROM events WHERE name = 'train' AND category = 'annotation'") == 4
    assert trace.scalar("SELECT count(*) FROM steps") == 4
    assert trace.scalar("SELECT count(*) FROM health WHERE code IN ('processor-alone', 'no-device')") == 0


def test_what_jax_compiles_is_compilation(tmp_path: Path) -> None:
    events = on_processor(marked=True)
    for number in range(4):
        at = 10_000 * number
        events += [
            span("$pxla.py:1209 compile", at + 620, 60, 701, 10),
            span("backend_compile_and_load", at + 630, 40, 701, 10),
        ]
    found = Signals.of(opened(tmp_path, events))(compilations)
    assert (found.steps, int(found.dur.sum()), found.names) == (4, 240_000, ("$pxla.py:1209 compile",))
