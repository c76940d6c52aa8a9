"""Simulated Nsight Systems exports, read back, are the job that was simulated."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest

from readers.conformance import check_invariants, check_sniffing, check_splits, open_fresh
from series import series
from stepscope.analyses.registry import analyses
from stepscope.model.errors import MissingInputError, UserError
from stepscope.simulate import PRESETS, SimJob, random_job, simulate
from stepscope.simulate.writers.nsight_device import short_name

JOBS = {
    "two ranks": SimJob(ranks=2, steps=2, layers=1, with_stack=True),
    "sharded": SimJob(ranks=2, steps=2, layers=1, parallel="fsdp"),
    # An export also holds what took memory before the steps. No wait for a batch lies between, which a trace lacks.
    "graph": SimJob(steps=2, layers=1, graph=True, load_ns=100_000),
    "inference": SimJob(steps=2, layers=1, training=False, workers=1),
    "reads numbers": SimJob(steps=2, layers=2, items_per_step=2, sync_each_step=True, copy_stream=True),
    "pageable": SimJob(steps=2, layers=1, pinned=False, workers=0),
    "flushes": SimJob(steps=2, layers=1, buffer_flush_ops=90),
    "empties its cache": replace(PRESETS["memory-churn"], steps=3, layers=1),
}
PARTS = ("total_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns", "comm_ns", "copy_ns")


@pytest.fixture(scope="module", params=series(JOBS, 2))
def written(request, tmp_path_factory):
    """A job, the export of its first rank, and the truth about that rank."""
    job = JOBS[request.param]
    out = tmp_path_factory.mktemp("nsight") / "run"
    paths = simulate(job, out, "nsight")
    assert [path.name for path in paths] == [f"rank{rank}.sqlite" for rank in range(job.ranks)]
    return job, paths[0], json.loads((out / "job.truth.json").read_text())["ranks"][0]


@pytest.fixture(scope="module")
def read(written):
    """The job, its first rank as read, and the truth about it."""
    job, path, truth = written
    check_sniffing(path)
    with open_fresh(path) as trace:
        yield job, trace, truth


def table(trace, name):
    """An analysis; no rows where the recording lacks what it needs."""
    try:
        return analyses()[name].run(trace).records()
    except MissingInputError:
        return []


def test_it_conforms_and_nothing_is_wrong_with_it(read):
    job, trace, _ = read
    check_invariants(trace)
    check_splits(trace)
    wrong = trace.sql("SELECT code FROM health WHERE severity <> 'info'").to_pylist()
    assert [row["code"] for row in wrong] == ["profiler-overhead"] * bool(job.buffer_flush_ops)


def test_step_budgets_are_true_to_the_nanosecond(read):
    _, trace, truth = read
    budget = [row for row in table(trace, "step_budget") if row["step"] is not None]
    wanted = [step["tile" if position else "span"] for position, step in enumerate(truth["steps"])]
    assert [[row[part] for part in PARTS] for row in budget] == [[row[part] for part in PARTS] for row in wanted]
    assert [row["number"] for row in budget] == [step["step"] for step in truth["steps"]]


def test_kernels_and_copies_are_true(read):
    _, trace, truth = read
    found = Counter()
    for row in trace.sql("SELECT kind, name, dur FROM kernels WHERE kind <> 'sync'").to_pylist():
        found[row["kind"], row["name"]] += row["dur"]
    assert found == {(row["kind"], row["name"]): row["total_ns"] for row in truth["kernels"]}
    copied = sum(row["total_ns"] for row in table(trace, "copies"))
    assert copied == sum(row["total_ns"] for row in truth["kernels"] if row["kind"] in ("copy", "set"))


def test_every_activity_has_its_launch(read):
    _, trace, _ = read
    assert trace.scalar("SELECT count(*) FROM kernels WHERE launch IS NULL") == 0
    assert trace.scalar("SELECT count(*) FROM kernels WHERE graph IS NOT NULL AND kind = 'compute'") == trace.scalar(
        "SELECT count(*) FROM kernels k JOIN events e ON e.id = k.launch WHERE e.name LIKE 'cudaGraphLaunch%' AND "
        "k.kind = 'compute'"
    )


def test_the_memory_taken_from_the_driver_is_true(read):
    job, trace, truth = read
    [row] = table(trace, "memory_peaks")
    assert row["peak_bytes"] == truth["peak_reserved"]
    assert row["allocations"] == truth["segment_calls"]
    assert trace.scalar("SELECT count(*) FROM memory WHERE bytes < 0") == row["frees"]
    assert (row["frees"] > 0) == job.empty_cache


def kineto(job, tmp_path):
    """The first rank of the same job as a trace of torch.profiler."""
    return open_fresh(simulate(job, tmp_path / "kineto")[0])


def test_it_tells_the_same_as_a_trace_of_torch_profiler(read, tmp_path):
    job, trace, _ = read
    with kineto(job, tmp_path) as other:
        for name, columns in {
            "operators": ("name", "count", "total_ns", "total_device_ns"),
            "collectives": ("name", "count", "total_ns", "bytes", "world_size", "exposed_ns"),
            "synchronisations": ("name", "count", "total_ns", "busy_ns"),
            "idle_causes": ("step", "cause", "detail", "total_ns"),
            "dataloader": ("count", "total_ns"),
        }.items():
            ours, theirs = ([[row[c] for c in columns] for row in table(t, name)] for t in (trace, other))
            ours = [row for row in ours if not str(row[0]).startswith("NCCL:")]
            assert sorted(ours, key=str) == sorted(theirs, key=str), name


def test_ranks_know_who_they_are_and_share_a_clock(tmp_path):
    job = SimJob(ranks=3, ranks_per_host=2, steps=1, layers=1, clock_offset_ns=1_234_567)
    simulate(job, tmp_path / "run", "nsight")
    with open_fresh(tmp_path / "run") as trace:
        found = [(r.rank, r.world_size, r.host) for r in trace.recordings.values()]
        assert found == [(0, 3, "host0"), (1, 3, "host0"), (2, 3, "host1")]
        ends = trace.sql("SELECT rank, min(ts + dur) AS t FROM kernels WHERE kind = 'comm' GROUP BY 1 ORDER BY 1")
        wall = [trace.recordings[row["rank"]].origin_unix_ns + row["t"] for row in ends.to_pylist()]
        assert [time - wall[0] for time in wall] == [0, 0, 1_234_567]


def tables(path):
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def test_tables_are_made_only_where_there_are_rows(tmp_path):
    plain = tables(simulate(SimJob(steps=1, profile_memory=False), tmp_path / "a.sqlite", "nsight")[0])
    rich = tables(simulate(SimJob(steps=1, items_per_step=1, ranks=2), tmp_path / "b", "nsight")[0])
    assert "CUDA_GPU_MEMORY_USAGE_EVENTS" not in plain
    assert "NVTX_PAYLOAD_SCHEMAS" not in plain
    assert plain.keys() < rich.keys()
    assert all(rows for rows in rich.values())


def test_the_truth_counts_the_rows(tmp_path):
    path = simulate(SimJob(steps=1), tmp_path / "t.sqlite", "nsight")[0]
    found = tables(path)
    counted = json.loads((tmp_path / "t.truth.json").read_text())["ranks"][0]["events"]
    assert counted == {name: len(found[name]) for name in counted}
    assert counted["CUPTI_ACTIVITY_KIND_KERNEL"] > 20


def test_equal_jobs_give_equal_bytes_and_no_part_is_left(tmp_path):
    job = replace(random_job(3), device="a100", ranks=1)
    one, other = (simulate(job, tmp_path / name / "t.sqlite", "nsight")[0] for name in "ab")
    assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in one.parent.iterdir()) == ["t.sqlite", "t.truth.json"]


def test_a_host_has_one_export_of_all_its_ranks(tmp_path):
    job = SimJob(ranks=4, ranks_per_host=2, steps=1, layers=1)
    single = [tables(path) for path in simulate(job, tmp_path / "single", "nsight")]
    shared = [tables(path) for path in simulate(job, tmp_path / "shared", "nsight-host")]
    assert sorted(path.name for path in (tmp_path / "shared").iterdir()) == [
        "host0.sqlite", "host1.sqlite", "job.truth.json",
    ]  # fmt: skip
    for name in ("CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS", "PROCESSES"):
        assert [len(one[name]) for one in shared] == [2 * len(single[0][name])] * 2
    assert len(shared[0]["TARGET_INFO_SESSION_START_TIME"]) == 1
    whole = simulate(replace(job, ranks=2), tmp_path / "one.sqlite", "nsight-host")
    assert whole == [tmp_path / "one.sqlite"]


def test_a_failure_leaves_no_file(tmp_path, monkeypatch):
    from stepscope.simulate.engine.run import Simulation

    def broken(self):
        yield 0, []
        raise KeyboardInterrupt

    with pytest.raises(UserError, match="mi300x"):
        simulate(SimJob(device="mi300x"), tmp_path / "t.sqlite", "nsight")
    monkeypatch.setattr(Simulation, "batches", broken)
    for format in ("nsight", "nsight-host"):
        with pytest.raises(KeyboardInterrupt):
            simulate(SimJob(ranks=1), tmp_path / "t.sqlite", format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void at::native::reduce_kernel<4, at::native::Sum<float> >(at::native::Sum)", "reduce_kernel"),
        ("void at::native::(anonymous namespace)::softmax_warp_forward<float>(float*)", "softmax_warp_forward"),
        ("nvjet_tst_128x128_64x5_1x2_h_bz_coopA_TNT", "nvjet_tst_128x128_64x5_1x2_h_bz_coopA_TNT"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
    ],
)  # fmt: skip
def test_short_names(name, short):
    assert short_name(name) == short
