"""Simulated memory snapshots, read back, are what the simulated allocator did."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import pairwise

import pytest

from readers.conformance import check_invariants, check_sniffing, open_fresh
from series import series
from stepscope.analyses.registry import analyses
from stepscope.simulate import PRESETS, SimJob, simulate
from stepscope.simulate.records import Context
from stepscope.simulate.specs import OpSpec
from stepscope.simulate.writers.snapshot_frames import SnapshotStacks

JOBS = {
    "plain": SimJob(steps=2, layers=1),
    "two ranks": SimJob(ranks=2, steps=2, layers=1, with_stack=True),
    "inference": SimJob(steps=2, layers=1, training=False),
    "empties its cache": replace(PRESETS["memory-churn"], steps=3, layers=1),
    "leaks": SimJob(steps=4, layers=1, leak_bytes=3_000_001, warmup_steps=2),
    "short of memory": replace(PRESETS["memory-churn"], steps=3, layers=1, empty_cache=False, memory_bytes=500 << 20),
    "amd": SimJob(steps=2, layers=1, device="mi300x"),
}


@pytest.fixture(scope="module", params=series(JOBS, 2))
def written(request, tmp_path_factory):
    """A job, the snapshot of its last rank, and the truth about that rank."""
    job = JOBS[request.param]
    out = tmp_path_factory.mktemp("snapshot") / "run"
    path = simulate(job, out, "memsnapshot")[-1]
    return job, path, json.loads((out / "job.truth.json").read_text())["ranks"][-1]


@pytest.fixture(scope="module")
def read(written):
    """The job, the snapshot as read, and the truth."""
    job, path, truth = written
    check_sniffing(path)
    with open_fresh(path) as trace:
        yield job, trace, truth


def loaded(path):
    """The pickle, by an unpickler that admits plain containers only."""

    class Plain(pickle.Unpickler):
        def find_class(self, module, name):
            raise AssertionError(f"{module}.{name}")

    with path.open("rb") as file:
        return Plain(file).load()


def test_it_conforms_and_nothing_is_wrong_with_it(read):
    _, trace, _ = read
    check_invariants(trace)
    assert trace.sql("SELECT code FROM health WHERE code <> 'events-read'").to_pylist() == []


def test_what_is_held_and_the_peak_are_true_to_the_byte(read):
    job, trace, truth = read
    [row] = analyses()["memory_snapshot"].run(trace).records()
    assert row["device"] == truth["rank"] % job.ranks_per_host
    assert (row["reserved_bytes"], row["allocated_bytes"], row["requested_bytes"]) == (
        truth["reserved_at_end"], truth["allocated_at_end"], truth["requested_at_end"],
    )  # fmt: skip
    assert (row["peak_bytes"], row["peak_is_lower_bound"]) == (truth["peak_requested"], False)
    [peaks] = analyses()["memory_peaks"].run(trace).records()
    assert peaks["peak_reserved_bytes"] == truth["peak_reserved"]


def test_all_that_the_allocator_did_is_there(read):
    job, trace, truth = read
    counted = {row["action"]: row["c"] for row in trace.sql(
        "SELECT action, count(*) AS c FROM allocator_events GROUP BY 1").to_pylist()}  # fmt: skip
    assert counted == truth["events"]
    assert counted["segment_alloc"] == truth["segment_calls"]
    assert counted["free_requested"] == counted["free_completed"]
    assert (counted.get("segment_free", 0) > 0) == (job.empty_cache or job.memory_bytes > 0)


def test_steps_and_times_are_true_to_the_microsecond(read):
    _, trace, truth = read
    steps = trace.sql("SELECT number, dur FROM steps ORDER BY ts").to_pylist()
    assert [row["number"] for row in steps] == [step["step"] for step in truth["steps"]]
    for row, step in zip(steps, truth["steps"], strict=True):
        assert abs(row["dur"] - (step["host_end"] - step["host_begin"])) <= 1000


def test_stacks_tell_what_memory_is_for(read):
    job, trace, _ = read
    found = {row["category"]: row["place"] for row in trace.sql(
        "SELECT DISTINCT s.category, s.place FROM call_stacks s JOIN allocations a ON a.stack = s.stack "
        "ORDER BY s.place").to_pylist()}  # fmt: skip
    assert {"parameter", "forward"} <= found.keys()
    assert ({"backward", "optimizer"} <= found.keys()) == job.training
    assert found["forward"] == "/opt/job/train.py(41): forward"


def test_blocks_fill_their_segments(written):
    _, path, _ = written
    for segment in loaded(path)["segments"]:
        blocks = segment["blocks"]
        assert sum(block["size"] for block in blocks) == segment["total_size"]
        assert blocks[0]["address"] == segment["address"]
        for one, other in pairwise(blocks):
            assert one["address"] + one["size"] == other["address"]
            assert "inactive" not in (one["state"], other["state"]) or one["state"] != other["state"]


def test_entries_are_in_order_and_share_their_frames(written):
    job, path, truth = written
    snapshot = loaded(path)
    assert len(snapshot["device_traces"]) == job.ranks
    history = snapshot["device_traces"][truth["rank"]]
    assert [entry["time_us"] for entry in history] == sorted(entry["time_us"] for entry in history)
    stacks = {id(entry["frames"]): entry["frames"] for entry in history}
    assert len(stacks) < len(history) / 2
    assert len({id(frame) for frames in stacks.values() for frame in frames}) < 80
    marks = snapshot["external_annotations"]
    assert [mark["time_us"] for mark in marks] == sorted(mark["time_us"] for mark in marks)


def test_a_leak_is_found(tmp_path):
    path = simulate(JOBS["leaks"], tmp_path / "t.pickle", "memsnapshot")[0]
    with open_fresh(path) as trace:
        held = trace.sql(
            "SELECT s.place, count(*) AS c, sum(a.requested)::BIGINT AS b FROM allocations a "
            "JOIN call_stacks s USING (stack) WHERE a.freed_seq IS NULL AND s.place LIKE '%log_metrics' GROUP BY 1"
        ).to_pylist()
    assert held == [{"place": "/opt/job/train.py(52): log_metrics", "c": 6, "b": 6 * 3_000_001}]


def test_equal_jobs_give_equal_bytes(tmp_path):
    one, other = (simulate(SimJob(steps=1), tmp_path / name / "t.pickle", "memsnapshot")[0] for name in "ab")
    assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in one.parent.iterdir()) == ["t.pickle", "t.truth.json"]


@pytest.mark.parametrize(
    ("operators", "frames", "names"),
    [
        (("aten::linear", "aten::mm"), ("train.py(3): main", "nn.Module: Linear_0"),
         ["at::_ops::mm::call(at::Tensor const&)", "at::_ops::linear::call(at::Tensor const&)", "_call_impl", "main"]),
        ((), ("torch/optim/adamw.py(160): _init_group",), ["_init_group"]),
        ((), (), []),
    ],
)  # fmt: skip
def test_stacks_are_innermost_first(operators, frames, names):
    stack = SnapshotStacks().of(Context(frames, tuple(OpSpec(name) for name in operators)))
    assert [frame["name"] for frame in stack[2:]] == names


def test_the_autograd_thread_has_an_end_of_its_own():
    outer = OpSpec("autograd::engine::evaluate_function: MmBackward0")
    stack = SnapshotStacks().of(Context((), (outer, OpSpec("MmBackward0"), OpSpec("aten::mm"))))
    names = [frame["name"].split("(")[0] for frame in stack[2:]]
    assert names == [
        "at::_ops::mm::call", "torch::autograd::generated::MmBackward0::apply",
        "torch::autograd::Engine::evaluate_function", "torch::autograd::Engine::thread_main",
    ]  # fmt: skip
