"""An export of several processes that use GPUs is a rank for each of them."""

from __future__ import annotations

import pytest

from readers.conformance import assert_same, check_invariants, check_splits, open_fresh, tables
from readers.nsight.database import KERNEL, PUSH_POP, RUNTIME, Export, global_tid
from series import WHOLE, rounds
from stepscope.analyses.registry import analyses
from stepscope.ingest import Options, open_trace
from stepscope.simulate import SimJob, simulate
from support import recorded_trace


def two_processes(devices: tuple[int, int] = (1, 0)) -> Export:
    """Processes 7 and 8 launch a kernel each, on these devices; 9 is beside them without a GPU."""
    export = Export()
    for pid, device in zip((7, 8), devices, strict=True):
        export.call("cudaLaunchKernel_v7000", 10 * pid, 10 * pid + 5, 3, pid)
        export.kernel(f"of {pid}", 10 * pid + 200, 10 * pid + 300, 3, pid, deviceId=device)
        export.nvtx(PUSH_POP, f"range of {pid}", 10 * pid - 1, 10 * pid + 6, globalTid=global_tid(pid))
        export.row("ThreadNames", nameId=export.text(f"main {pid}"), priority=10, globalTid=global_tid(pid))
    export.row("OSRT_API", start=80, end=90, eventClass=27, globalTid=global_tid(9), nameId=export.text("poll"))
    export.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_700_000_000_000_000_000)
    return export


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The export of both processes, open."""
    with open_fresh(two_processes().sqlite(tmp_path_factory.mktemp("two") / "export.sqlite")) as trace:
        yield trace


def names(trace, rank):
    return {row["name"] for row in trace.rank(rank).sql("SELECT name FROM events").to_pylist()}


def test_each_process_is_a_rank_in_the_order_of_their_devices(two):
    assert two.ranks == (0, 1)
    assert names(two, 0) == {"cudaLaunchKernel", "of 8", "range of 8", "poll"}
    assert names(two, 1) == {"cudaLaunchKernel", "of 7", "range of 7"}
    assert [two.recordings[rank].part for rank in two.ranks] == ["", "process 7"]
    assert two.recordings[0].parts == ("process 7",)
    check_invariants(two)
    linked = "SELECT rank, name, device, launch IS NOT NULL AS l FROM kernels ORDER BY rank"
    assert [tuple(row.values()) for row in two.sql(linked).to_pylist()] == [
        (0, "of 8", 0, True),
        (1, "of 7", 1, True),
    ]
    labels = "SELECT rank, label FROM tracks WHERE kind = 'host' AND thread IN ('7', '8') ORDER BY rank"
    assert [row["label"] for row in two.sql(labels).to_pylist()] == ["main 8", "main 7"]
    codes = two.sql("SELECT rank, code, count FROM health WHERE code LIKE 'processes%'").to_pylist()
    assert codes == [{"rank": 0, "code": "processes-split", "count": 2}]
    origin = [two.recordings[rank].origin_unix_ns - 1_700_000_000_000_000_000 for rank in two.ranks]
    assert origin == [79, 69]


def test_processes_that_all_see_device_0_are_ordered_by_the_gpu_they_mean(tmp_path):
    export = two_processes((0, 0))
    for pid, gpu in ((7, 5), (8, 2)):
        export.row("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=pid)
    with open_fresh(export.sqlite(tmp_path / "export.sqlite")) as trace:
        assert [trace.recordings[rank].part for rank in trace.ranks] == ["", "process 7"]
    with open_fresh(two_processes((0, 0)).sqlite(tmp_path / "other.sqlite")) as trace:
        assert [trace.recordings[rank].part for rank in trace.ranks] == ["", "process 8"]


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_folders_are_told_apart_likewise(kind, two, tmp_path):
    with open_fresh(two_processes().folder(tmp_path / "folder", kind)) as other:
        assert other.ranks == (0, 1)
        for rank in two.ranks:
            assert_same(tables(two.rank(rank)), tables(other.rank(rank)))


def test_one_process_with_two_gpus_is_one_rank(tmp_path):
    export = Export()
    for device in (0, 1):
        export.kernel("k", 10, 20, device + 1, deviceId=device)
    with open_fresh(export.sqlite(tmp_path / "export.sqlite")) as trace:
        assert trace.ranks == (0,)
        assert trace.recordings[0].parts == ()
        assert trace.scalar("SELECT count(DISTINCT device) FROM kernels") == 2
        assert trace.scalar("SELECT count(*) FROM health WHERE code = 'processes-split'") == 0


def test_ranks_that_are_recorded_count(tmp_path):
    export = two_processes()
    for pid, rank in ((7, 4), (8, 6)):
        export.row("MPI_RANKS", globalTid=global_tid(pid), rank=rank)
    with open_fresh(export.sqlite(tmp_path / "rank3.sqlite")) as trace:
        assert {rank: trace.recordings[rank].part for rank in trace.ranks} == {6: "", 4: "process 7"}


def test_a_number_in_the_name_is_not_that_of_a_process(tmp_path):
    two_processes().sqlite(tmp_path / "rank3.sqlite")
    two_processes().sqlite(tmp_path / "rank5.sqlite")
    with open_fresh(tmp_path) as trace:
        assert trace.ranks == (0, 1, 2, 3)
        assert [trace.recordings[rank].part for rank in trace.ranks] == ["", "process 7"] * 2
        assert not any(code == "rank-conflict" for code, *_ in trace.notes)


def test_the_cache_holds_all_ranks(tmp_path, monkeypatch):
    path = two_processes().sqlite(tmp_path / "export.sqlite")
    options = Options(store=tmp_path / "store")
    with open_trace(path, options) as trace:
        first = [tables(trace.rank(rank)) for rank in trace.ranks]
    monkeypatch.setattr("stepscope.ingest.reading.read_recording", None)
    with open_trace(path, options) as trace:
        for rank, found in zip(trace.ranks, first, strict=True):
            assert_same(found, tables(trace.rank(rank)))


def test_a_process_that_next_to_never_uses_its_gpu_stays_with_the_first(tmp_path):
    export = Export()
    for index in range(20_000):
        export.kernel("k", 10 * index, 10 * index + 5, index + 1)
    export.kernel("seldom", 55, 58, 1, 8)
    with open_fresh(export.sqlite(tmp_path / "export.sqlite")) as trace:
        assert trace.ranks == (0,)
        assert trace.scalar("SELECT count(*) FROM kernels") == 20_001


def test_rows_without_a_process_belong_to_the_first(tmp_path):
    export = two_processes()
    export.row(RUNTIME, start=1, end=2, globalTid=None, correlationId=None, nameId=export.text("nobody"))
    export.work(KERNEL, 300, 310, 0, globalPid=None, demangledName=export.text("nobody's"), deviceId=0)
    export.row("GPU_METRICS", timestamp=5, typeId=1, metricId=2, value=50)
    with open_fresh(export.sqlite(tmp_path / "export.sqlite")) as trace:
        assert trace.ranks == (0, 1)
        assert {"nobody", "nobody's"} <= names(trace, 0)
        assert names(trace, 1) == {"cudaLaunchKernel", "of 7", "range of 7"}
        assert trace.sql("SELECT rank, count(*) AS c FROM counters GROUP BY 1").to_pylist() == [{"rank": 0, "c": 1}]


@pytest.mark.series
def test_a_simulated_host_is_the_same_as_its_ranks(tmp_path):
    job = SimJob(ranks=2, steps=rounds(2, 1), layers=1, with_stack=WHOLE)
    simulate(job, tmp_path / "single", "nsight")
    simulate(job, tmp_path / "host.sqlite", "nsight-host")
    # Sessions start at different times, and ids of strings differ; what the tables say does not.
    with open_fresh(tmp_path / "single") as single, open_fresh(tmp_path / "host.sqlite") as host:
        assert host.ranks == single.ranks == (0, 1)
        for rank in host.ranks:
            for name in ("step_budget", "kernels", "operators", "collectives", "memory_peaks", "idle_causes"):
                one, other = (analyses()[name].run(trace.rank(rank)).records() for trace in (single, host))
                assert one == other, name
            assert host.recordings[rank].origin_unix_ns == single.recordings[rank].origin_unix_ns
        check_splits(host)


@pytest.mark.parametrize("name", ["h100_2gpu_1s", "mfu_2gpu_before", "mfu_2gpu_after"])
def test_real_exports_of_two_processes(name):
    with recorded_trace("nsys", f"{name}.sqlite") as trace:
        assert trace.ranks == (0, 1)
        counts = [trace.rank(rank).scalar("SELECT count(*) FROM kernels WHERE kind = 'compute'") for rank in (0, 1)]
        assert min(counts) > 0.9 * max(counts)
        for rank in (0, 1):
            one = trace.rank(rank)
            assert one.scalar("SELECT min(device) = max(device) AND min(device) = $r FROM kernels", {"r": rank})
            assert one.scalar("SELECT count(DISTINCT process) FROM tracks WHERE kind = 'host'") == 1
            # The launches of its kernels are its own.
            wrong = "SELECT count(*) FROM kernels k JOIN spans l ON l.id = k.launch WHERE k.ts < l.ts"
            assert one.scalar(wrong) == 0
