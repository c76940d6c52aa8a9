"""Chrome traces of other profilers: rocprof, whose processes tell device work, and ONNX Runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readers.conformance import open_fresh
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.shared.program import program
from stepscope.signals.shared.ran_on import ran_on


def opened(tmp_path: Path, events: list[dict[str, Any]]) -> Trace:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(events), encoding="utf-8")
    return open_fresh(path)


def process(pid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}


def span(name: str, ts: int, dur: int, pid: int, tid: int, cat: str | None = None, **args: str) -> dict[str, Any]:
    """An event; rocprof writes numbers as text."""
    event = {"ph": "X", "name": name, "ts": str(ts), "dur": str(dur), "pid": pid, "tid": tid, "args": args}
    return event if cat is None else {**event, "cat": cat}


def flow(number: int, *ends: tuple[str, int, int, int]) -> list[dict[str, Any]]:
    return [
        {"ph": ph, "cat": "DataFlow", "name": "dep", "id": number, "ts": ts, "pid": pid, "tid": tid}
        for ph, ts, pid, tid in ends
    ]


def hip(*, numbered: bool) -> list[dict[str, Any]]:
    """Three launches, each linked to its kernel on stream 4 of device 1, a copy, a wait and a range."""
    names = {2: "CPU HIP API", 3: "CPU HSA API", 1: "COPY", 0: "Markers and Ranges", 7: "GPU1"}
    events = [process(pid, f"{i} {name}" if numbered else name) for i, (pid, name) in enumerate(names.items())]
    for number in range(3):
        at = 1_000 * number
        kernel = span("Cijk_Ailk_Bljk_SB_MT64", at + 100, 500, 7, 4)
        events += [span("hipLaunchKernel", at, 10, 2, 77), kernel]
        events += flow(number, ("s", at + 10, 2, 77), ("t", at + 100, 7, 4))
    return [
        *events, span("CopyHostToDevice", 3_000, 40, 1, 0), span("hipDeviceSynchronize", 2_010, 600, 2, 77),
        span("hsa_signal_create", 2_020, 1, 3, 77), span("train", 0, 2_700, 0, 77), span("Marker", 2_650, 2, 7, 4),
    ]  # fmt: skip


@pytest.mark.parametrize("numbered", [False, True])
def test_processes_of_rocprof_are_devices_calls_copies_and_ranges(numbered: bool, tmp_path: Path) -> None:
    trace = opened(tmp_path, hip(numbered=numbered))
    assert trace.rows("SELECT kind, count(*) AS n FROM kernels GROUP BY kind ORDER BY kind") == [
        {"kind": "compute", "n": 3},
        {"kind": "copy", "n": 1},
    ]
    assert trace.rows("SELECT DISTINCT device, stream FROM tracks WHERE kind = 'device' ORDER BY stream") == [
        {"device": 1, "stream": "4"},
        {"device": 1, "stream": "copies"},
    ]
    launched = "SELECT count(*) FROM kernels k JOIN events e ON e.id = k.launch WHERE e.category = 'launch'"
    assert trace.scalar(launched) == 3
    rows = trace.rows("SELECT category::VARCHAR AS category, count(*) AS n FROM events GROUP BY 1")
    found = {row["category"]: row["n"] for row in rows}
    assert (found["sync"], found["annotation"], found["runtime"]) == (1, 1, 1)
    told = Signals.of(trace)(program)
    assert (told.platform, trace.recordings[0].reader) == ("rocm", "chrome")
    assert trace.scalar("SELECT count(*) FROM health WHERE code = 'not-a-profile'") == 0


def test_other_processes_of_such_names_are_not(tmp_path: Path) -> None:
    for names in (("CPU HIP API", "COPY"), ("GPU0", "something")):
        events = [process(i, name) for i, name in enumerate(names)]
        trace = opened(tmp_path, [*events, span("work", 0, 10, 0, 1), span("more", 20, 10, 0, 1)])
        assert trace.scalar("SELECT count(*) FROM kernels") == 0


def test_runs_of_onnx_runtime_are_steps_and_its_nodes_operators(tmp_path: Path) -> None:
    events = [span("session_initialization", 0, 9_000, 1, 1, "Session")]
    for number in range(5):
        at = 10_000 + 1_000 * number
        events += [
            span("model_run", at, 900, 1, 1, "Session"),
            span("SequentialExecutor::Execute", at + 5, 890, 1, 1, "Session"),
            span("Conv_0_fence_before", at + 10, 1, 1, 1, "Node", op_name="Conv"),
            span("Conv_0_kernel_time", at + 20, 600, 1, 1, "Node", op_name="Conv"),
            span("MatMul_1_kernel_time", at + 630, 200, 1, 1, "Node", op_name="MatMul"),
        ]
    trace = opened(tmp_path, events)
    assert trace.scalar("SELECT count(*) FROM steps") == 5
    assert trace.scalar("SELECT count(*) FROM events WHERE category = 'op'") == 10
    assert trace.scalar("SELECT count(*) FROM health WHERE code = 'not-a-profile'") == 0
    assert (Signals.of(trace)(program).framework, trace.recordings[0].reader) == ("onnxruntime", "chrome")


def nodes(provider: str) -> list[dict[str, Any]]:
    """Two runs of a graph of three nodes, of which one has no name."""
    events = []
    for number in range(2):
        at = 1_000 * number
        events += [
            span("SequentialExecutor::Execute", at, 900, 1, 1, "Session"),
            span("/layer.0/MatMul_kernel_time", at + 20, 600, 1, 1, "Node", op_name="MatMul", provider=provider),
            span("_kernel_time", at + 640, 50, 1, 1, "Node", provider="CPUExecutionProvider", op_name="Relu"),
            span("Odd_kernel_time", at + 700, 50, 1, 1, "Node"),
        ]
    return events


@pytest.mark.parametrize(
    ("provider", "where", "lines"),
    [("CPUExecutionProvider", "cpu", ["processor-alone"]), ("CUDAExecutionProvider", "device", ["no-device"])],
)
def test_nodes_of_onnx_runtime_are_called_by_their_operators_and_tell_where_they_ran(
    provider: str, where: str, lines: list[str], tmp_path: Path
) -> None:
    trace = opened(tmp_path, nodes(provider))
    assert {row["name"] for row in trace.rows("SELECT name FROM events WHERE category = 'op'")} == {
        "MatMul /layer.0/MatMul", "Relu", "Odd",
    }  # fmt: skip
    found = Signals.of(trace)(ran_on)
    assert (found.where, found.sure) == (where, True)
    codes = "SELECT code FROM health WHERE code IN ('processor-alone', 'no-device') ORDER BY code"
    assert [row["code"] for row in trace.rows(codes)] == lines


def test_nodes_without_arguments_do_not_tell_where_they_ran(tmp_path: Path) -> None:
    events = [{**event, "args": {}} for event in nodes("")]
    trace = opened(tmp_path, events)
    assert {row["name"] for row in trace.rows("SELECT name FROM events WHERE category = 'op'")} == {
        "/layer.0/MatMul", "_kernel_time", "Odd",
    }  # fmt: skip
    assert Signals.of(trace)(ran_on).where == "unknown"
