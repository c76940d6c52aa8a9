"""Recordings of JAX and TensorFlow in their profiler's own format: the same as its Chrome trace of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from readers.conformance import assert_same, check_invariants, check_report, check_sniffing, open_fresh, tables
from readers.xplane.xspaces import PlaneWriter, jax_job, of, xspace
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.shared.program import program
from stepscope.signals.shared.ran_on import ran_on


def opened(tmp_path: Path, data: bytes) -> Trace:
    (tmp_path / "a.xplane.pb").write_bytes(data)
    return open_fresh(tmp_path / "a.xplane.pb")


def events(trace: Trace) -> list[tuple[str, int, int]]:
    return [(row["name"], row["ts"], row["dur"]) for row in trace.rows("SELECT name, ts, dur FROM events ORDER BY ts")]


def args(trace: Trace) -> list[dict[str, str]]:
    return [json.loads(row["args"] or "{}") for row in trace.rows("SELECT args FROM events ORDER BY ts")]


def health(trace: Trace) -> set[str]:
    return {row["code"] for row in trace.rows("SELECT code FROM health")}


def test_a_job_of_jax_is_read_as_its_chrome_trace_is(tmp_path: Path) -> None:
    trace = opened(tmp_path, jax_job())
    check_sniffing(tmp_path / "a.xplane.pb")
    check_invariants(trace)
    check_report(trace)
    rows = trace.rows("SELECT DISTINCT name, category::VARCHAR AS category FROM events ORDER BY name")
    assert {row["name"]: row["category"] for row in rows} == {
        "$api.py:2479 block_until_ready": "python",
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
    labels = trace.rows("SELECT label FROM tracks ORDER BY label")
    assert [row["label"] for row in labels] == ["python", "tf_XLAPjRtCpuClient/7"]
    (recording,) = trace.recordings.values()
    assert (recording.reader, recording.host) == ("xplane", "node-3")
    assert recording.origin_unix_ns == 1_795_984_871_000_001_000
    assert Signals.of(trace)(program).framework == "jax"
    assert Signals.of(trace)(ran_on).where == "cpu"
    assert not health(trace) & {"not-a-profile", "truncated", "events-lost", "names-lost"}


def test_it_may_be_packed(tmp_path: Path) -> None:
    whole = tables(opened(tmp_path, jax_job()))
    packed = tmp_path / "a.xplane.pb.gz"
    packed.write_bytes(gzip.compress(jax_job()))
    assert_same(tables(open_fresh(packed)), whole, but=("recorded",))


def test_times_are_rounded_to_ns_at_both_ends(tmp_path: Path) -> None:
    # Rounded by their durations, the inner one would end after the outer one.
    line = [of("outer", 0, 2_499), of("inner", 501, 1_998), of("end", 2**40, 0)]
    trace = opened(tmp_path, xspace(PlaneWriter("/host:CPU", {"python": line})))
    assert events(trace) == [("outer", 0, 2), ("inner", 1, 1), ("end", (2**40 + 500) // 1000, 0)]


def test_values_are_what_the_profilers_own_trace_has(tmp_path: Path) -> None:
    stats = {"_pt": 15, "flops": 8, "is_func": -1, "id": 2**64 - 2, "share": 0.25, "text": "é\"", "where": "&node/é",
             "raw": b"\0"}  # fmt: skip
    line = [of("node/MatMul:MatMul", 0, 10, **stats), of("MemoryAllocation", 5, 0, bytes=8)]
    plane = PlaneWriter("/host:CPU", {"pool": line}, short={"node/MatMul:MatMul": "MatMul"})
    trace = opened(tmp_path, xspace(plane))
    assert [name for name, _, _ in events(trace)] == ["MatMul"]
    assert args(trace) == [
        {
            "long_name": "node/MatMul:MatMul",
            "is_func": "-1",
            "id": str(2**64 - 2),
            "share": "0.25",
            "text": 'é"',
            "where": "node/é",
        }
    ]


def test_devices_are_told_by_their_lines(tmp_path: Path) -> None:
    steps = [of("17", at * 1_000_000, 900_000, step_name=str(at + 5)) for at in range(3)]
    ops = [of("%fusion.4 = f32[8] fusion()", at * 1_000_000, 600_000, flops=5) for at in range(3)]
    short = {"%fusion.4 = f32[8] fusion()": "fusion.4"}
    device = PlaneWriter("/device:TPU:1", {"Steps": steps, "XLA Ops": ops}, number=3, short=short)
    streams = {"Stream #20(Compute,MemcpyH2D)": [of("loop_fusion_2", at * 1_000_000, 600_000) for at in range(3)]}
    gpu = PlaneWriter("/device:GPU:0", streams, number=3)
    host = PlaneWriter("/host:CPU", {"python": [of("PjitFunction(step)", 0, 5_000)]})
    other = PlaneWriter("#Chip TPU Non-Core HLO", {"x": [of("nothing", 0, 5_000)]})
    trace = opened(tmp_path, xspace(host, device, gpu, other))
    check_invariants(trace)
    assert trace.rows("SELECT DISTINCT t.device, t.stream, e.name FROM kernels k JOIN events e ON e.id = k.event "
                      "JOIN tracks t ON t.track = e.track ORDER BY t.device") == [
        {"device": 0, "stream": "20", "name": "loop_fusion_2"},
        {"device": 1, "stream": "0", "name": "fusion.4"},
    ]  # fmt: skip
    assert trace.scalar("SELECT count(*) FROM steps") == 3
    assert trace.scalar("SELECT count(*) FROM events WHERE name = 'nothing'") == 0


def test_sums_over_several_events_are_none(tmp_path: Path) -> None:
    line = [of("one", 0, 10_000), of("several", None, 50_000)]
    trace = opened(tmp_path, xspace(PlaneWriter("/host:CPU", {"python": line})))
    assert [name for name, _, _ in events(trace)] == ["one"]
    assert "events-untimed" in health(trace)


@pytest.mark.parametrize("name", ["Task Environment", "/host:metadata"])
def test_without_events_it_is_refused(name: str, tmp_path: Path) -> None:
    from stepscope.model.errors import UserError

    with pytest.raises(UserError, match="holds no trace events") as error:
        opened(tmp_path, xspace(PlaneWriter(name, {"x": [of("a", 1, 2)]})))
    assert "jax.profiler.trace" in (error.value.hint or "")
