"""What is derived from the facts of a recording: nesting, launches, operators, steps."""

from __future__ import annotations

from support import Facts


def test_kernels_know_their_launch_operator_module_and_step() -> None:
    facts = Facts()
    facts.step(3, 0, 1000)
    module = facts.host("annotation", "encoder", 10, 500)
    op = facts.host("op", "aten::linear", 20, 200)
    inner = facts.host("op", "aten::addmm", 30, 100)
    kernel = facts.kernel("ampere_bf16_s16816gemm_bf16_128x64", 400, 700, launch=(50, 10))
    trace = facts.trace()
    rows = trace.sql("SELECT event, launch, op, module, step, kind, op_class FROM kernels").to_pylist()
    assert rows == [
        {"event": kernel, "launch": kernel - 1, "op": inner, "module": module, "step": 3, "kind": "compute",
         "op_class": "gemm"}
    ]  # fmt: skip
    assert trace.sql("SELECT parent, depth FROM events WHERE id = ?", [inner]).to_pylist() == [
        {"parent": op, "depth": 3}
    ]


def test_a_step_reaches_to_the_end_of_the_last_kernel_launched_in_it() -> None:
    facts = Facts()
    facts.step(0, 0, 100)
    facts.kernel("k", 90, 60, launch=(50, 10))
    facts.step(1, 100, 100)
    facts.kernel("k", 160, 20, launch=(120, 10))
    steps = facts.trace().sql('SELECT step, number, ts, dur, "end", source FROM steps ORDER BY step').to_pylist()
    assert [(s["number"], s["ts"], s["dur"], s["end"]) for s in steps] == [(0, 0, 100, 150), (1, 100, 100, 200)]
    assert {s["source"] for s in steps} == {"profiler"}


def test_time_starts_at_zero_and_the_whole_is_one_step_without_a_mark() -> None:
    facts = Facts()
    facts.host("op", "aten::mm", 5_000, 100)
    facts.kernel("k", 5_200, 50, launch=(5_010, 5))
    trace = facts.trace()
    assert trace.scalar("SELECT min(ts) FROM events") == 0
    assert trace.sql("SELECT source, ts, dur FROM steps").to_pylist() == [{"source": "whole", "ts": 10, "dur": 240}]


def test_kernels_of_one_graph_launch_share_it() -> None:
    facts = Facts()
    correlation = facts.correlation()
    launch = facts.host("launch", "cudaGraphLaunch", 0, 10, correlation=correlation)
    facts.kernel("a", 20, 5, launch=correlation)
    facts.kernel("b", 25, 5, launch=correlation)
    assert (
        facts.trace().sql("SELECT launch, graph FROM kernels").to_pylist() == [{"launch": launch, "graph": launch}] * 2
    )


def test_memory_belongs_to_the_innermost_event_on_its_thread() -> None:
    facts = Facts()
    facts.host("op", "aten::linear", 0, 100)
    inner = facts.host("op", "aten::empty", 10, 20)
    track = facts.staging.track("host", process="1", thread="1")
    facts.row("raw_memory", ts=15, track=track, device=0, address=1, bytes=512, allocated=512, reserved=2048)
    assert facts.trace().sql("SELECT owner, bytes FROM memory").to_pylist() == [{"owner": inner, "bytes": 512}]


def test_times_that_cannot_be_true_are_repaired_and_counted() -> None:
    day = 24 * 3600 * 10**9
    facts = Facts()
    start = 1_700_000_000 * 10**9
    facts.host("op", "good", start, 100)
    facts.host("op", "zero", 0, 100)
    facts.host("op", "far before", -(2**63), 100)
    facts.host("op", "far after", 2**63 - 1, 100)
    facts.host("op", "negative", start + 10, -5)
    facts.host("op", "overflow", start + 20, 300 * day)
    trace = facts.trace()
    health = {row["code"]: row["count"] for row in trace.sql("SELECT code, count FROM health").to_pylist()}
    assert health["time-missing"] == 3
    assert health["duration-negative"] == health["duration-overflow"] == 1
    assert trace.sql("SELECT name, dur FROM events ORDER BY id").to_pylist() == [
        {"name": "good", "dur": 100},
        {"name": "negative", "dur": None},
        {"name": "overflow", "dur": None},
    ]
