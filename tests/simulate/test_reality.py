"""What real recordings are full of: start-up, edges, clocks, resolutions, programs without a framework."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stepscope.model.errors import UserError
from stepscope.simulate import SimJob, simulate

JOB = SimJob(steps=3, warmup_steps=2)


def recorded(tmp_path: Path, **changes: object) -> tuple[list[dict], dict]:
    """Events, times in ns, and the truth of the one rank."""
    [path] = simulate(replace(JOB, **changes), tmp_path / "t.json")
    events = json.loads(path.read_text())["traceEvents"]
    for event in events:
        for key in ("ts", "dur"):
            if key in event:
                event[key] = round(float(event[key]) * 1000)
    return events, json.loads((tmp_path / "t.truth.json").read_text())


def of(events: list[dict], *categories: str) -> list[dict]:
    return [event for event in events if event.get("cat") in categories and event["ph"] == "X"]


def steps_of(events: list[dict]) -> list[str]:
    return [event["name"] for event in of(events, "user_annotation") if event["name"].startswith("ProfilerStep")]


def test_the_start_of_a_job_holds_its_context_first_uses_and_warm_up(tmp_path: Path) -> None:
    events, truth = recorded(
        tmp_path, record_start=True, context_ns=300_000_000, first_use_ns=5_000_000, library_copies=True
    )
    assert steps_of(events) == [f"ProfilerStep#{number}" for number in range(5)]
    assert [step["typical"] for step in truth["ranks"][0]["steps"]] == [False, False, True, True, True]
    [context] = [event for event in of(events, "cuda_runtime") if event["name"] == "cudaFree"]
    assert context["dur"] >= 300_000_000
    launches = [event for event in of(events, "cuda_runtime") if "LaunchKernel" in event["name"]]
    slow = [event for event in launches if event["dur"] > 4_000_000]
    assert len(slow) == len({event["name"] for event in of(events, "kernel")})
    assert any(event["args"]["bytes"] == 112 for event in of(events, "gpu_memcpy"))
    assert truth["step_time_ns"] < 10_000_000


def test_an_edge_leaves_work_without_launch(tmp_path: Path) -> None:
    events, truth = recorded(tmp_path, start_edge=True, compute_scale=50.0)
    launched = {event["args"]["correlation"] for event in of(events, "cuda_runtime")}
    unlaunched = [event for event in of(events, "kernel") if event["args"]["correlation"] not in launched]
    assert unlaunched
    assert min(event["ts"] for event in unlaunched) == min(event["ts"] for event in of(events, "kernel"))
    assert [step["typical"] for step in truth["ranks"][0]["steps"]] == [False, True, True]


def test_the_device_has_a_clock_of_its_own(tmp_path: Path) -> None:
    true, _ = recorded(tmp_path)
    seen, _ = recorded(tmp_path, device_clock_ns=-40_000, device_clock_ppm=100.0)
    assert [e["ts"] for e in of(true, "cpu_op")] == [e["ts"] for e in of(seen, "cpu_op")]
    off = [b["ts"] - a["ts"] for a, b in zip(of(true, "kernel"), of(seen, "kernel"), strict=True)]
    assert all(-40_000 <= one <= -38_000 for one in off)
    assert off[-1] > off[0]


def test_times_are_rounded_down_to_ticks(tmp_path: Path) -> None:
    events, _ = recorded(tmp_path, clock_tick_ns=1000)
    timed = [event for event in events if event["ph"] == "X"]
    assert all(event["ts"] % 1000 == 0 for event in of(events, "cpu_op", "kernel", "cuda_runtime"))
    assert timed


def test_a_program_without_framework_has_runtime_calls_and_device_work_only(tmp_path: Path) -> None:
    events, _ = recorded(tmp_path, framework=False)
    assert not of(events, "cpu_op", "user_annotation", "gpu_user_annotation", "python_function")
    assert of(events, "cuda_runtime")
    assert of(events, "kernel")


def test_recording_costs_the_host_and_takes_time_to_stop(tmp_path: Path) -> None:
    _, plain = recorded(tmp_path)
    _, slowed = recorded(tmp_path, profiler_op_ns=20_000)
    _, stopped = recorded(tmp_path, profiler_stop_ns=30_000_000)
    assert slowed["step_time_ns"] > plain["step_time_ns"]
    assert stopped["step_time_ns"] == plain["step_time_ns"]
    ends = [truth["ranks"][0]["recorded_to"] for truth in (plain, stopped)]
    assert ends[1] - ends[0] == 30_000_000


def test_steps_may_have_other_names(tmp_path: Path) -> None:
    events, _ = recorded(tmp_path, step_name="execute_context_0(0)_generation_{}(8)", training=False)
    names = {event["name"] for event in of(events, "user_annotation")}
    assert "execute_context_0(0)_generation_3(8)" in names


def test_an_edge_is_refused_where_work_needs_its_launch(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="without its launch"):
        simulate(replace(JOB, device="ascend910b2", start_edge=True), tmp_path / "npu", "ascend")
