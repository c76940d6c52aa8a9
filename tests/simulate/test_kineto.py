"""What the Kineto writer leaves on disk."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections import Counter
from dataclasses import replace

import pytest

from series import rounds, series
from stepscope.model.errors import UserError
from stepscope.simulate import PRESETS, SimJob, random_job, simulate
from stepscope.simulate.writers.kineto_events import BASE_NS, START_NS, micros


def load(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def truth_of(path):
    return json.loads(path.with_name(path.name.split(".json")[0] + ".truth.json").read_text())


def nanoseconds(value):
    return round(value * 1000)


@pytest.mark.parametrize("preset", series(sorted(set(PRESETS) - {"multi-host", "transformer", "checkpointed"}), 5))
def test_every_preset_gives_json_with_the_counted_events(preset, tmp_path):
    paths = simulate(replace(PRESETS[preset], steps=1), tmp_path / "run")
    rows = json.loads((tmp_path / "run" / "job.truth.json").read_text())["ranks"]
    assert len(paths) == PRESETS[preset].ranks
    for path, row in zip(paths, rows, strict=True):
        document = load(path)
        counted = Counter(e["cat"] for e in document["traceEvents"] if e.get("cat") and e["cat"] != "Trace")
        assert counted == row["events"]
        assert row["rank"] == document.get("distributedInfo", {"rank": 0})["rank"]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_equal_jobs_give_equal_bytes(suffix, tmp_path):
    job = replace(random_job(3), ranks=1)
    first = simulate(job, tmp_path / "a" / f"t{suffix}")[0]
    second = simulate(job, tmp_path / "b" / f"t{suffix}")[0]
    assert first.read_bytes() == second.read_bytes()
    other = simulate(replace(job, noise=0.2, noise_seed=9), tmp_path / "c" / f"t{suffix}")[0]
    assert other.read_bytes() != first.read_bytes()


def test_times_are_exact(tmp_path):
    path = simulate(SimJob(), tmp_path / "t.json")[0]
    step = truth_of(path)["ranks"][0]["steps"][0]
    text = path.read_text()
    assert f'"ts": {micros(step["host_begin"] + START_NS)}' in text
    assert load(path)["baseTimeNanoseconds"] == BASE_NS
    event = next(e for e in load(path)["traceEvents"] if e["name"] == f"ProfilerStep#{step['step']}")
    assert nanoseconds(event["dur"]) == step["host_end"] - step["host_begin"]


def test_kernels_carry_their_launch_configuration_and_links(tmp_path):
    events = load(simulate(SimJob(), tmp_path / "t.json")[0])["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    fields = {"External id", "queued", "device", "context", "stream", "correlation", "registers per thread"}
    fields |= {"shared memory", "blocks per SM", "warps per SM", "grid", "block", "est. achieved occupancy %"}
    assert all(fields <= set(kernel["args"]) for kernel in kernels)
    starts = {e["id"] for e in events if e.get("cat") == "ac2g" and e["ph"] == "s"}
    ends = {e["id"] for e in events if e.get("cat") == "ac2g" and e["ph"] == "f"}
    assert starts == ends >= {kernel["args"]["correlation"] for kernel in kernels}
    operators = {e["args"]["External id"]: e["name"] for e in events if e.get("cat") == "cpu_op"}
    gemm = next(k for k in kernels if "gemm" in k["name"] or k["name"].startswith("nvjet"))
    assert operators[gemm["args"]["External id"]] == "aten::addmm"


def test_collectives_name_what_they_move_and_clocks_differ_by_host(tmp_path):
    job = SimJob(ranks=4, ranks_per_host=2, clock_offset_ns=1_234_567)
    ends = []
    for path in simulate(job, tmp_path / "t"):
        events = load(path)["traceEvents"]
        nccl = [e for e in events if e.get("cat") == "kernel" and e["name"].startswith("ncclDevKernel_AllReduce")]
        host = [e for e in events if e["name"] == "record_param_comms"]
        assert len(nccl) == len(host) > 0
        first = nccl[0]["args"]
        assert first["Collective name"] == host[0]["args"]["Collective name"] == "allreduce"
        assert (first["Group size"], first["Process Group Ranks"]) == (4, "[0, 1, 2, 3]")
        assert first["In msg nelems"] == host[0]["args"]["In msg nelems"]
        ends.append(nanoseconds(nccl[0]["ts"]) + nanoseconds(nccl[0]["dur"]))
    assert ends[1] == ends[0]
    # ts are printed exactly, but json makes them doubles: at 3.7e12 µs they resolve half a nanosecond.
    assert abs(ends[2] - ends[0] - 1_234_567) <= 1
    assert ends[3] == ends[2]


def test_a_graph_is_one_launch_for_many_kernels(tmp_path):
    events = load(simulate(SimJob(graph=True, steps=1), tmp_path / "t.json")[0])["traceEvents"]
    (launch,) = [e for e in events if e["name"] == "cudaGraphLaunch"]
    nodes = [e["args"]["graph node id"] for e in events if e.get("cat") == "kernel" and "graph id" in e["args"]]
    assert len(nodes) == len(set(nodes)) > 20
    shared = [e for e in events if e.get("args", {}).get("correlation") == launch["args"]["correlation"]]
    assert len(shared) == len(nodes) + 1 + sum(e.get("cat") == "gpu_memset" for e in shared)


@pytest.mark.parametrize(
    ("switch", "absent"),
    [("profile_memory", "cpu_instant_event"), ("with_stack", "python_function"), ("mark_steps", "ProfilerStep#1")],
)
def test_what_is_not_recorded_is_not_written(switch, absent, tmp_path):
    on = simulate(SimJob(**{switch: True}), tmp_path / "on.json")[0].read_text()
    off = simulate(SimJob(**{switch: False}), tmp_path / "off.json")[0].read_text()
    assert absent in on
    assert absent not in off


def test_shapes_are_written_when_asked_for(tmp_path):
    path = simulate(SimJob(batch=3, sequence=7), tmp_path / "t.json")[0]
    embedding = next(e for e in load(path)["traceEvents"] if e["name"] == "aten::embedding")
    assert embedding["args"]["Input Dims"] == [[1024, 256], [3, 7], [], [], []]
    assert embedding["args"]["Input type"][0] == "c10::BFloat16"
    bare = simulate(SimJob(record_shapes=False), tmp_path / "bare.json")[0]
    assert "Input Dims" not in bare.read_text()


@pytest.mark.series
def test_memory_does_not_grow_with_the_number_of_steps(tmp_path):
    def peak(steps):
        tracemalloc.start()
        simulate(SimJob(steps=steps), tmp_path / f"{steps}.json")
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(2)
    few, many = peak(10), peak(rounds(60, 18))
    assert many < 1.5 * few


def test_a_failure_leaves_no_file(tmp_path):
    with pytest.raises(UserError, match="no format"):
        simulate(SimJob(), tmp_path / "t.json", format="tape")
    with pytest.raises(UserError, match="layers"):
        simulate(SimJob(layers=0), tmp_path / "t.json")
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_is_abandoned_leaves_no_file(tmp_path, monkeypatch):
    from stepscope.simulate.engine.run import Simulation

    def broken(self):
        yield 0, []
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "batches", broken)
    with pytest.raises(KeyboardInterrupt):
        simulate(SimJob(), tmp_path / "t.json")
    assert list(tmp_path.iterdir()) == []
