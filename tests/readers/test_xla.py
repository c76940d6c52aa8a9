"""Traces of JAX and TensorFlow, whose device work has no category."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readers.conformance import open_fresh
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.shared.program import program


def lane(pid: int, process: str, lanes: dict[int, str]) -> list[dict[str, Any]]:
    threads = [{"ph": "M", "pid": pid, "tid": t, "name": "thread_name", "args": {"name": n}} for t, n in lanes.items()]
    return [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": process}}, *threads]


def span(name: str, ts: int, dur: int, pid: int, tid: int) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": {}}


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
