"""What the Ascend writer leaves on disk is read back as what the simulated job did."""

from __future__ import annotations

import json
import tracemalloc
from collections import defaultdict
from dataclasses import replace

import pytest

from readers.conformance import check_invariants, check_splits
from series import WHOLE, rounds, series, spread
from stepscope.analyses.registry import analyses
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import UserError
from stepscope.simulate import PRESETS, SimJob, random_job, simulate

ASCEND = SimJob(device="ascend910b2", hidden=128, steps=2)
PARTS = ("total_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns", "comm_ns", "copy_ns")
COMMON = {
    "trace_view.json",
    "kernel_details.csv",
    "operator_details.csv",
    "step_trace_time.csv",
    "operator_memory.csv",
    "memory_record.csv",
    "npu_module_mem.csv",
}
SUMS = {"op_statistic.csv", "api_statistic.csv"}
COMMUNICATION = {"communication.json", "communication_matrix.json"}


def written(job, tmp_path):
    """The folders of a job, and the truth of each rank."""
    paths = simulate(job, tmp_path / "run", "ascend")
    return paths, json.loads((tmp_path / "run" / "job.truth.json").read_text())["ranks"]


def opened(path):
    return open_trace(path, Options(cache=False))


def worst(trace):
    return [row for row in trace.sql("SELECT * FROM health").to_pylist() if row["severity"] == "error"]


def check_budgets(trace, truth, waited=False):
    """With copies that the host waits for, which have no task on the device, their time is idle."""
    parts = ("total_ns", "compute_ns", "exposed_comm_ns", "comm_ns") if waited else PARTS
    rows = [row for row in analyses()["step_budget"].run(trace).records() if row["step"] is not None]
    assert [row["number"] for row in rows] == [step["step"] for step in truth["steps"]]
    for row, step in zip(rows, truth["steps"], strict=True):
        assert {part: row[part] for part in parts} == {part: step["tile"][part] for part in parts}


def check_kernels(trace, truth, waited=False):
    kinds = ("sync", "copy") if waited else ("sync",)
    expected = defaultdict(lambda: (0, 0))
    for kernel in truth["kernels"]:
        if kernel["kind"] in kinds:
            continue
        name = "collective" if kernel["kind"] == "comm" else kernel["name"]
        count, total = expected[kernel["kind"], name]
        expected[kernel["kind"], name] = count + kernel["count"], total + kernel["total_ns"]
    found = trace.sql(
        "SELECT kind, CASE kind WHEN 'comm' THEN 'collective' ELSE name END AS name, count(*) AS n, "
        f"sum(dur)::BIGINT AS total FROM kernels WHERE kind NOT IN ({str(kinds).strip('(),')}) GROUP BY ALL"
    ).to_pylist()
    assert {(row["kind"], row["name"]): (row["n"], row["total"]) for row in found} == expected


@pytest.mark.parametrize("setting", series([(0, 3), (0, 1), (1, 1), (1, 3), (2, 1), (2, 3)], 3))
def test_steps_and_kernels_are_the_jobs(setting, tmp_path):
    level, ranks = setting
    paths, truth = written(replace(ASCEND, ranks=ranks, profiler_level=level), tmp_path)
    assert len(paths) == len(truth) == ranks
    # Every rank of every job in the series, the last otherwise.
    for path, row in list(zip(paths, truth, strict=True))[0 if WHOLE else -1 :]:
        with opened(path) as trace:
            assert not worst(trace)
            assert list(trace.ranks) == [row["rank"]]
            check_budgets(trace, row)
            check_kernels(trace, row)


@pytest.mark.parametrize("preset", series(["convnet", "memory-churn", "stacks", "inference"], 2))
def test_every_preset_is_read_back(preset, tmp_path):
    job = replace(PRESETS[preset], device="ascend910b3", steps=1, layers=2)
    paths, truth = written(job, tmp_path)
    with opened(paths[-1]) as trace:
        assert not worst(trace)
        check_budgets(trace, truth[-1])
        check_kernels(trace, truth[-1])


@pytest.mark.parametrize("seed", series(range(9), 1))
def test_random_jobs_are_read_back(seed, tmp_path):
    job = replace(random_job(seed), device="ascend910b2", profiler_level=seed % 3)
    paths, truth = written(job, tmp_path)
    with opened(paths[0]) as trace:
        assert not worst(trace)
        check_invariants(trace)
        check_splits(trace)
        waited = bool(job.items_per_step) or not job.pinned
        check_budgets(trace, truth[0], waited)
        check_kernels(trace, truth[0], waited)


@pytest.mark.parametrize(
    ("level", "files"),
    [(0, COMMON), (1, COMMON | SUMS | COMMUNICATION), (2, COMMON | SUMS | COMMUNICATION | {"l2_cache.csv"})],
)
def test_a_level_has_its_files(level, files, tmp_path):
    paths, _ = written(replace(ASCEND, ranks=2, profiler_level=level), tmp_path)
    for rank, path in enumerate(paths):
        assert {file.name for file in (path / "ASCEND_PROFILER_OUTPUT").iterdir()} == files
        around = {file.name for file in path.iterdir()}
        assert around == {"ASCEND_PROFILER_OUTPUT", "profiler_metadata.json", f"profiler_info_{rank}.json"}
        assert path.name.startswith("node0_")
        assert path.name.endswith("_ascend_pt")


def test_one_rank_has_no_communication(tmp_path):
    paths, _ = written(replace(ASCEND, profile_memory=False), tmp_path)
    files = {file.name for file in (paths[0] / "ASCEND_PROFILER_OUTPUT").iterdir()}
    memory = {"operator_memory.csv", "memory_record.csv", "npu_module_mem.csv"}
    assert files == COMMON - memory | SUMS
    assert (paths[0] / "profiler_info.json").is_file()


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    """The job at levels 1 and 2: its trace and its truth."""
    found = {}
    for level in (1, 2):
        paths, truth = written(replace(ASCEND, profiler_level=level), tmp_path_factory.mktemp("level"))
        found[level] = opened(paths[0]), truth[0]
    yield found
    for trace, _ in found.values():
        trace.close()


def test_launches_go_through_the_queue_to_their_operators(levels):
    for trace, _ in levels.values():
        assert (
            trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute' AND (launch IS NULL OR op IS NULL)") == 0
        )
        rows = trace.sql(
            "SELECT DISTINCT o.name AS op, k.name, l.name AS launch FROM kernels k JOIN spans x ON x.id = k.op "
            "JOIN events o ON o.id = k.op JOIN events l ON l.id = k.launch WHERE k.kind = 'compute'"
        ).to_pylist()
        assert all(row["name"].startswith(row["op"] + "_") and row["launch"] == "Node@launch" for row in rows)
        queued = trace.sql("SELECT source, target FROM flows WHERE kind = 'queue'").to_pylist()
        assert queued
        assert all(row["source"] is not None and row["target"] is not None for row in queued)


def test_calls_inside_a_launch_are_no_launches(levels, tmp_path):
    check_launches(levels[2][0], {"KernelLaunchWithHandle"})
    paths, _ = written(replace(ASCEND, ranks=2, profiler_level=2), tmp_path)
    with opened(paths[0]) as trace:
        check_launches(trace, {"KernelLaunchWithHandle", "Hccl@Launch_Ffts"})


def check_launches(trace, names):
    inner = trace.sql("SELECT DISTINCT name, category FROM events WHERE name LIKE '%Launch%'").to_pylist()
    assert {row["name"] for row in inner} == names
    assert {row["category"] for row in inner} == {"runtime"}
    launches = trace.scalar("SELECT count(*) FROM events WHERE category = 'launch'")
    assert launches == trace.scalar("SELECT count(DISTINCT launch) FROM kernels WHERE kind <> 'sync'")


def test_collections_of_garbage_are_in_their_thread(tmp_path):
    job = replace(ASCEND, with_stack=True, gc_interval_ops=300, gc_pause_ns=2_000_000)
    paths, truth = written(job, tmp_path)
    with opened(paths[0]) as trace:
        rows = trace.sql("SELECT e.dur, t.process, t.thread FROM events e JOIN tracks t USING (track) "
                         "WHERE category = 'gc'").to_pylist()  # fmt: skip
        assert rows
        assert {(row["dur"], row["process"], row["thread"]) for row in rows} == {(2_000_000, "4100", "4100")}
        check_budgets(trace, truth[0])


def test_graphs_are_one_call_for_many_kernels(tmp_path):
    paths, _ = written(replace(ASCEND, graph=True), tmp_path)
    with opened(paths[0]) as trace:
        rows = trace.sql(
            "SELECT e.name, count(*) AS n FROM kernels k JOIN events e ON e.id = k.launch "
            "WHERE e.name LIKE 'aclmdl%' GROUP BY k.launch, e.name"
        ).to_pylist()
        assert len(rows) == 2
        assert all(row["n"] > 20 for row in rows)


@pytest.mark.series
@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_collectives_are_the_same_on_all_ranks(parallel, tmp_path):
    job = replace(ASCEND, ranks=4, parallel=parallel, hidden=256, noise=0.1, bucket_bytes=1 << 20)
    paths, _ = written(replace(job, steps=rounds(2, 1), layers=rounds(2, 1)), tmp_path)
    seen = []
    for path in spread(paths, rounds(4, 2)):
        with opened(path) as trace:
            rows = trace.sql(
                'SELECT c."group", c.seq, c.collective, c.bytes, c.world_size, k.name, k.ts + k.dur AS stop '
                "FROM collectives c JOIN kernels k ON k.event = c.event ORDER BY k.ts"
            ).to_pylist()
            kinds = {row["collective"] for row in rows}
            assert kinds == ({"all_reduce"} if parallel == "ddp" else {"all_gather", "reduce_scatter"})
            assert {row["world_size"] for row in rows} == {4}
            assert all(row["bytes"] for row in rows)
            seen.append([(row["group"], row["seq"], row["name"]) for row in rows])
    assert seen[0]
    assert seen.count(seen[0]) == len(seen) > 1


@pytest.mark.series
def test_waiting_for_a_slow_rank_shows_in_the_planes(tmp_path):
    job = replace(ASCEND, ranks=3, slow_rank=2, slow_factor=4.0, hidden=256, layers=rounds(4, 2), steps=1)
    paths, _ = written(job, tmp_path)
    waits = []
    for path in paths:
        with opened(path) as trace:
            waits.append(
                trace.scalar(
                    "SELECT sum(e.dur) FROM comm_tasks t JOIN events e ON e.id = t.event "
                    "WHERE t.kind = 'wait' AND t.plane = 1"
                )
            )
            moved = trace.sql("SELECT DISTINCT link, transport FROM comm_tasks WHERE bytes > 0").to_pylist()
            assert {(row["link"], row["transport"]) for row in moved} == {("ON_CHIP", "SDMA"), ("HCCS", "SDMA")}
    assert waits[2] < waits[0] / 4
    assert waits[2] < waits[1] / 4


def test_ranks_on_other_machines_are_reached_over_the_network(tmp_path):
    paths, _ = written(replace(ASCEND, ranks=4, ranks_per_host=2, clock_offset_ns=1_000, steps=1), tmp_path)
    assert [path.name.split("_")[0] for path in paths] == ["node0", "node0", "node1", "node1"]
    with opened(paths[3]) as trace:
        pairs = trace.sql("SELECT DISTINCT link, src, dst FROM comm_tasks WHERE bytes > 0 ORDER BY 1").to_pylist()
        assert pairs == [
            {"link": "HCCS", "src": 3, "dst": 2},
            {"link": "ON_CHIP", "src": 3, "dst": 3},
            {"link": "ROCE", "src": 3, "dst": 1},
        ]


def test_memory_is_the_allocators(levels):
    for trace, truth in levels.values():
        assert trace.scalar("SELECT max(allocated) FROM memory") == truth["peak_allocated"]
        assert trace.scalar("SELECT max(reserved) FROM memory") == truth["peak_reserved"]
        assert trace.scalar("SELECT max(value) FROM counters WHERE name = 'PTA allocated'") == truth["peak_allocated"]
        taken, given = (trace.scalar(f"SELECT sum(bytes) FROM memory WHERE bytes {sign} 0") for sign in "><")
        assert taken == -given


def test_copies_have_sizes_at_level_2_alone(levels):
    for level, (trace, _) in levels.items():
        rows = trace.sql("SELECT direction, bytes FROM copies").to_pylist()
        assert {row["direction"] for row in rows} == {"HtoD"}
        assert {row["bytes"] for row in rows} == ({None} if level == 1 else {8 * 128 * 8})


def test_copies_that_are_waited_for_have_calls_alone(tmp_path):
    paths, _ = written(replace(ASCEND, pinned=False, items_per_step=1), tmp_path)
    with opened(paths[0]) as trace:
        assert trace.scalar("SELECT count(*) FROM copies") == 0
        rows = trace.sql(
            "SELECT e.name, p.name AS operator FROM events e JOIN events p ON p.id = e.parent JOIN steps s "
            "ON s.step = e.step WHERE s.number = 1 AND (e.name LIKE 'aclrtMemcpy%' OR e.name LIKE 'aclrtSync%') "
            "ORDER BY e.ts"
        ).to_pylist()
        pair = ["aclrtSynchronizeStreamWithTimeout", "aclrtMemcpy"]
        assert [row["name"] for row in rows] == 3 * pair
        assert [row["operator"] for row in rows] == [*4 * ["aten::copy_"], *2 * ["aten::_local_scalar_dense"]]


def test_what_the_cores_cannot_compute_runs_on_the_ai_cpu(tmp_path):
    job = replace(ASCEND, double_ops=2, profiler_level=2)
    paths, truth = written(job, tmp_path)
    with opened(paths[0]) as trace:
        check_budgets(trace, truth[0])
        kernels = trace.sql(
            "SELECT event, name, op_type, dur FROM kernels WHERE core = 'AI_CPU' ORDER BY ts"
        ).to_pylist()
        assert [row["name"] for row in kernels] == ["aclnnMul_MulAiCpu_Mul"] * 4
        metrics = trace.sql("SELECT event, metric, value FROM kernel_metrics WHERE metric LIKE 'ai_cpu%'").to_pylist()
        found = {(row["event"], row["metric"]): row["value"] for row in metrics}
        for row in kernels:
            compute, copied, whole, sent, total = (
                found[row["event"], f"ai_cpu_{part}_time"]
                for part in ("compute", "memcpy", "task", "dispatch", "total")
            )
            assert total == row["dur"] == whole + sent
            assert whole == compute + copied
        recorded = trace.sql(
            "SELECT DISTINCT subject, metric FROM recorded WHERE source = 'data_preprocess'"
        ).to_pylist()
        assert {row["subject"] for row in recorded} == {"aclnnMul_MulAiCpu_Mul"}
        assert "Total_time(us)" in {row["metric"] for row in recorded}
    assert (paths[0] / "ASCEND_PROFILER_OUTPUT" / "data_preprocess.csv").is_file()


def test_equal_jobs_give_equal_folders(tmp_path):
    job = replace(random_job(5), device="ascend910b2", ranks=2, profiler_level=2)
    contents = []
    for name in ("one", "other"):
        paths, _ = written(job, tmp_path / name)
        contents.append(
            [(file.name, file.read_bytes()) for p in paths for file in sorted(p.rglob("*")) if file.is_file()]
        )
    assert contents[0] == contents[1]
    assert len(contents[0]) > 20


@pytest.mark.series
@pytest.mark.skipif(not WHOLE, reason="dear, and the same as of traces of PyTorch; `make series` runs it")
def test_memory_does_not_grow_with_the_number_of_steps(tmp_path):
    def peak(steps):
        tracemalloc.start()
        written(replace(ASCEND, steps=steps), tmp_path / str(steps))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(2)
    few, many = peak(10), peak(40)
    assert many < 1.5 * few


def test_a_device_has_formats_and_a_failure_leaves_nothing(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="h100"):
        simulate(SimJob(), tmp_path / "r", "ascend")
    with pytest.raises(UserError, match="ascend910b2"):
        simulate(ASCEND, tmp_path / "r")
    with pytest.raises(UserError, match="profiler_level"):
        simulate(replace(ASCEND, profiler_level=3), tmp_path / "r", "ascend")

    from stepscope.simulate.engine.run import Simulation

    def broken(self):
        yield 0, []
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "batches", broken)
    with pytest.raises(KeyboardInterrupt):
        simulate(ASCEND, tmp_path / "r", "ascend")
    assert list((tmp_path / "r").iterdir()) == []


def test_ranks_can_leave_sums_alone(tmp_path):
    job = SimJob(device="ascend910b2", ranks=2, steps=2, layers=1, sums_from_rank=1)
    paths = simulate(job, tmp_path / "run", "ascend")
    left = {file.name for file in (paths[1] / "ASCEND_PROFILER_OUTPUT").iterdir()}
    assert left == {"step_trace_time.csv", "communication.json", "communication_matrix.json"}
    assert (paths[0] / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").exists()
    with open_trace(tmp_path / "run", Options(cache=False)) as trace:
        whole, sums = (trace.rank(rank) for rank in trace.ranks)
        assert sums.scalar("SELECT count(*) FROM collectives") == whole.scalar("SELECT count(*) FROM collectives") > 0
        assert sums.scalar("SELECT count(*) FROM kernels") == 0
