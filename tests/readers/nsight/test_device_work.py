"""Calls and device activity of exports of every age."""

from __future__ import annotations

import pytest

from readers.conformance import check_sample, open_fresh
from readers.nsight.database import GRAPH, KERNEL, MEMCPY, MEMSET, RUNTIME, SYNC, Export, global_pid, global_tid
from stepscope.model.errors import UserError

pytestmark = pytest.mark.series


@pytest.fixture
def export():
    return Export()


@pytest.fixture
def opened(tmp_path, request):
    def open_export(export: Export):
        trace = open_fresh(export.sqlite(tmp_path / "unknown"))
        check_sample(trace, request.node.nodeid)
        return trace

    return open_export


def rows(trace, query: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in trace.sql(query).to_pylist()]


def codes(trace) -> dict[str, int]:
    return dict(rows(trace, "SELECT code, count FROM health"))


def test_an_export_of_2020_without_versions_or_enumerations(export, opened):
    export.call("cudaLaunchKernel_v7000", 1000, 1300, 5)
    export.kernel(
        "gemm", 1500, 2500, 5, registersPerThread=40, gridX=3, gridY=2, gridZ=1, blockX=128, blockY=1, blockZ=1,
        staticSharedMemory=100, dynamicSharedMemory=28,
    )  # fmt: skip
    export.call("cudaDeviceSynchronize_v3020", 1400, 2600, 6)
    export.row("TARGET_INFO_GPU", vmId=0, name="Old GPU", busLocation="", isDiscrete=1, deviceId=0)
    trace = opened(export)
    assert rows(trace, "SELECT name, category, ts, dur FROM events ORDER BY ts") == [
        ("cudaLaunchKernel", "launch", 0, 300),
        ("cudaDeviceSynchronize", "sync", 400, 1200),
        ("gemm", "kernel", 500, 1000),
    ]
    assert rows(trace, "SELECT device, stream, grid, block, registers, shared_bytes, kind, op_class FROM kernels") == [
        (0, "7", [3, 2, 1], [128, 1, 1], 40, 128, "compute", "gemm")
    ]
    assert rows(trace, "SELECT e.name FROM kernels k JOIN events e ON e.id = k.launch") == [("cudaLaunchKernel",)]
    assert rows(trace, "SELECT device, name, used FROM devices") == [(0, "Old GPU", True)]
    assert trace.recordings[0].origin_unix_ns is None


def test_only_a_version_of_four_digits_is_cut_from_names(export, opened):
    for index, name in enumerate(("cudaMalloc_v3020", "cudaGraphLaunch_v10000", "cuMemcpyHtoDAsync_v2")):
        export.call(name, 10 * index, 10 * index + 5, index + 1)
    trace = opened(export)
    assert rows(trace, "SELECT name, category FROM events ORDER BY ts") == [
        ("cudaMalloc", "runtime"), ("cudaGraphLaunch_v10000", "launch"), ("cuMemcpyHtoDAsync_v2", "launch"),
    ]  # fmt: skip


def test_times_before_the_session_and_its_start(export, opened):
    export.row(
        "CUDA_GRAPH_EVENTS", start=-500, end=-500, eventClass=95, globalTid=global_tid(7), nameId=export.text("g")
    )
    export.call("cudaMalloc_v3020", 100, 200, 1)
    export.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_700_000_000_000_000_000)
    trace = opened(export)
    assert rows(trace, "SELECT name, ts, dur FROM events ORDER BY ts") == [("g", 0, 0), ("cudaMalloc", 600, 100)]
    assert trace.recordings[0].origin_unix_ns == 1_700_000_000_000_000_000 - 500


def test_the_same_correlation_in_two_processes(export, opened):
    for pid, device in ((7, 0), (8, 1)):
        export.call("cudaMemcpyAsync_v3020", 10 * pid, 10 * pid + 5, 3, pid)
        export.work(MEMCPY, 10 * pid + 200, 10 * pid + 300, 3, pid, deviceId=device, copyKind=device + 1)
    trace = opened(export)
    found = rows(
        trace,
        "SELECT k.name, k.device, t.process AS host, d.process AS device_of "
        "FROM kernels k JOIN spans s ON s.id = k.launch "
        "JOIN tracks t ON t.track = s.track JOIN tracks d ON d.track = k.track ORDER BY k.device",
    )
    assert found == [("Memcpy HtoD", 0, "7", "7"), ("Memcpy DtoH", 1, "8", "8")]


def test_devices_that_two_processes_call_by_the_same_number(export, opened):
    for pid in (7, 8):
        export.work(MEMCPY, pid, pid + 5, 1, pid)
    trace = opened(export)
    assert rows(trace, "SELECT device, count(*) FROM kernels GROUP BY 1 ORDER BY 1") == [(0, 1), (1, 1)]
    assert codes(trace)["devices-renumbered"] == 1


@pytest.mark.parametrize(("gpus", "devices"), [((3, 3), 1), ((3, 4), 2)])
def test_what_a_process_means_by_a_number_is_recorded_since_2025(export, opened, gpus, devices):
    for pid, gpu in zip((7, 8), gpus, strict=True):
        export.work(MEMCPY, pid, pid + 5, 1, pid)
        export.row("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=pid, uuid="", numMultiprocessors=2)
    for gpu in (3, 4):
        export.row(
            "TARGET_INFO_GPU", id=gpu, name=f"GPU {gpu}", cuDevice=gpu - 3, smCount=108, totalMemory=1 << 30,
            maxWarpsPerSm=64, threadsPerWarp=32, computeMajor=8, computeMinor=0, maxRegistersPerSm=65536,
            maxShmemPerSm=1000,
        )  # fmt: skip
    trace = opened(export)
    assert rows(trace, "SELECT count(DISTINCT device) FROM kernels") == [(devices,)]
    assert rows(
        trace, "SELECT name, sms, max_threads_per_sm, compute_capability, used FROM devices ORDER BY device"
    ) == [
        ("GPU 3", 108, 2048, "8.0", True),
        ("GPU 4", 108, 2048, "8.0", devices == 2),
    ]


def test_the_same_stream_number_in_two_contexts_is_two_queues(export, opened):
    export.kernel("a", 0, 10, 1)
    export.kernel("b", 5, 15, 2, contextId=2)
    trace = opened(export)
    assert rows(trace, "SELECT name, stream FROM kernels ORDER BY 1") == [("a", "7"), ("b", "7 of context 2")]


def test_names_that_are_no_text_or_are_missing(export, opened):
    export.kernel(b"k\xffernel \xc3\xa4", 0, 10, 1)
    export.work(KERNEL, 20, 30, 2, demangledName=99, shortName=99)
    export.work(KERNEL, 40, 50, 3, demangledName=None, shortName=None)
    trace = opened(export)
    assert rows(trace, "SELECT name FROM kernels ORDER BY ts") == [("k\ufffdernel ä",), ("#99",), ("unnamed",)]
    assert codes(trace)["names-missing"] == 1


def test_columns_that_a_reduced_export_lacks(export, opened):
    export.text("x")
    export.row(
        RUNTIME, start=0, end=5, globalTid=global_tid(7), correlationId=1, nameId=export.text("cudaLaunchKernel")
    )
    export.row(KERNEL, start=10, end=20, deviceId=0, streamId=7, correlationId=1, shortName=export.text("k"))
    trace = opened(export)
    assert rows(trace, "SELECT name, launch IS NOT NULL, grid, registers FROM kernels") == [("k", True, None, None)]


def test_values_of_the_wrong_type_are_missing_values(export, opened):
    export.call("cudaMalloc_v3020", 0, 5, 1)
    export.kernel("k", 10, 20, "what", registersPerThread=1.5, gridX="3", gridY=2**40, gridZ=b"\xff")
    export.kernel("lost", "soon", 20, 2)
    export.kernel("k", 30, 2**62, 3)
    trace = opened(export)
    assert rows(trace, "SELECT name, ts, dur, registers FROM kernels ORDER BY ts") == [
        ("k", 10, 10, 1),
        ("k", 30, 0, None),
    ]
    assert codes(trace)["duration-overflow"] == 1


def test_graphs_recorded_as_a_whole_are_device_work(export, opened):
    export.call("cudaGraphLaunch_v10000", 0, 10, 4)
    export.work(GRAPH, 20, 520, 4, graphId=3, graphExecId=9)
    trace = opened(export)
    assert rows(trace, "SELECT name, kind, dur, graph = launch FROM kernels") == [
        ("CUDA graph 3", "compute", 500, True)
    ]
    assert codes(trace)["graphs-opaque"] == 1


def test_graphs_recorded_by_node_share_their_launch(export, opened):
    export.call("cudaGraphLaunch_v10000", 0, 10, 4)
    export.kernel("a", 20, 30, 4, graphNodeId=11)
    export.kernel("b", 30, 40, 4, graphNodeId=12)
    export.call("cudaLaunchKernel_v7000", 50, 60, 5)
    export.kernel("c", 70, 80, 5, graphNodeId=None)
    trace = opened(export)
    assert rows(trace, "SELECT name, graph IS NOT NULL FROM kernels ORDER BY ts") == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]


def test_copies_with_kinds_of_memory_sets_and_migrations(export, opened):
    export.work(MEMCPY, 0, 10, 1, bytes=100, copyKind=1, srcKind=0, dstKind=2)
    export.work(MEMCPY, 10, 20, 2, bytes=200, copyKind=2, srcKind=2, dstKind=1)
    export.work(MEMCPY, 20, 30, 0, bytes=300, copyKind=11, srcKind=7, dstKind=7)
    export.work(MEMCPY, 30, 40, 3, bytes=400, copyKind=10, srcKind=2, dstKind=2)
    export.work(MEMCPY, 40, 50, 3, bytes=None, copyKind=77, srcKind=4, dstKind=None)
    export.work(MEMSET, 50, 60, 4, bytes=500, memKind=2)
    trace = opened(export)
    assert rows(trace, "SELECT name, kind FROM kernels ORDER BY ts") == [
        ("Memcpy HtoD (Pageable -> Device)", "copy"), ("Memcpy DtoH (Device -> Pinned)", "copy"),
        ("Memcpy HtoD (Unified Memory)", "copy"), ("Memcpy PtoP (Device -> Device)", "copy"),
        ("Memcpy unknown", "copy"), ("Memset (Device)", "set"),
    ]  # fmt: skip
    assert rows(trace, "SELECT direction, bytes, src_kind, dst_kind FROM copies ORDER BY event") == [
        ("HtoD", 100, "pageable", "device"), ("DtoH", 200, "device", "pinned"), ("HtoD", 300, "managed", "managed"),
        ("PtoP", 400, "device", "device"), ("unknown", None, "managed", None), ("set", 500, None, "device"),
    ]  # fmt: skip


def test_a_migration_belongs_to_no_call(export, opened):
    export.call("cudaMemcpy_v3020", 0, 5, 9)
    export.work(MEMCPY, 10, 20, 9, bytes=300, copyKind=12, srcKind=7, dstKind=7)
    assert rows(opened(export), "SELECT launch FROM kernels") == [(None,)]


@pytest.mark.parametrize("version", ["3.16.1", "3.25.0"])
def test_waits_are_named_by_their_call_and_only_new_exports_tell_their_type(export, opened, version):
    export.row("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value=version)
    export.kernel("k", 0, 10, 1, deviceId=1, contextId=2)
    for correlation, name in enumerate(
        ("cudaStreamSynchronize_v3020", "cuCtxSynchronize", "cudaStreamWaitEvent_v3020"), 2
    ):
        export.call(name, 10 * correlation, 10 * correlation + 5, correlation)
        export.work(SYNC, 10 * correlation + 1, 10 * correlation + 4, correlation, contextId=2, syncType=1)
    export.work(SYNC, 100, 110, 99, contextId=2, streamId=4294967295, syncType=4)
    trace = opened(export)
    lone = "Context Synchronize" if version == "3.25.0" else "Synchronize"
    assert rows(trace, "SELECT name, device, stream FROM kernels WHERE kind = 'sync' ORDER BY ts") == [
        ("Stream Synchronize", 1, "7"), ("Context Synchronize", 1, "7"), ("Stream Wait Event", 1, "7"),
        (lone, 1, "context 2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "given"),
    [
        ("3.25.0", [(4, 8, " (Context Synchronize)", "sync"), (3, 8, " (Stream Synchronize)", "sync"),
                    (2, 20_000, "", "runtime"), (None, 8, "", "launch")]),
        ("3.16.1", [(4, 20_000, " (Synchronize)", "sync"), (4, 19_999, "", "runtime")]),
    ],
)  # fmt: skip
def test_lost_names_of_calls(export, opened, version, given):
    """What they led to says what they do; where the type of a wait tells nothing, long ones block the host."""
    export.row("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value=version)
    export.kernel("k", 0, 10, 1)
    export.call("cudaMalloc_v3020", 10, 12, 2)
    expected = []
    for number, (kind, length, name, category) in enumerate(given, 3):
        start = 30_000 * number
        # A name per case, as what most calls of a name led to is what all of them do; and one that led to nothing.
        for lost, correlation, begun in ((900 + number, number, start), (950 + number, 100 + number, start + 25_000)):
            export.call("", begun, begun + (length if lost < 950 else 8), correlation)
            export.tables[RUNTIME][-1]["nameId"] = lost
        if kind is None:
            export.kernel("k", start + 3, start + 6, number)
        else:
            export.work(SYNC, start + 1, start + length, number, contextId=1, syncType=kind)
        expected += [(f"#{900 + number}{name}", category), (f"#{950 + number}", "runtime")]
    trace = opened(export)
    assert rows(trace, "SELECT name, category FROM events WHERE name LIKE '#%' ORDER BY ts") == expected


def test_an_export_without_events_says_so(export, tmp_path):
    export.text("x")
    export.row("TARGET_INFO_GPU", id=0, name="GPU", smCount=1)
    with pytest.raises(UserError, match="holds no events; record with"):
        open_fresh(export.sqlite(tmp_path / "empty.sqlite"))


def test_identities_beyond_what_is_expected(export, opened):
    export.row(RUNTIME, start=0, end=5, globalTid=-(2**63), correlationId=2**62, nameId=export.text("cudaMalloc"))
    export.row(RUNTIME, start=1, end=2, globalTid=None, correlationId=-1, nameId=None)
    export.work(KERNEL, 10, 20, 2**62, deviceId=-5, streamId=2**60, contextId=None, globalPid=-(2**63))
    export.work(KERNEL, 10, 20, None, deviceId=2**50, globalPid=global_pid(3))
    assert rows(opened(export), "SELECT count(*) FROM events") == [(4,)]


def test_rows_without_a_start_are_counted(export, opened):
    export.call("cudaLaunchKernel_v7000", 1000, 1300, 5)
    export.kernel("gemm", 1500, 2500, 5)
    export.kernel("gemm", "?#", 2600, 6)
    export.call("cudaLaunchKernel_v7000", "x", 1400, 7)
    assert codes(opened(export))["events-untimed"] == 2


def test_ranges_without_a_start_are_counted(export, opened):
    export.kernel("gemm", 1500, 2500, 5)
    export.row("NVTX_EVENTS", start=None, end=10, eventType=59, text="lost", globalTid=1)
    export.row("NVTX_EVENTS", start=None, end=None, eventType=75, text="the name of a domain", globalTid=1)
    assert codes(opened(export))["events-untimed"] == 1


def test_an_export_without_events_is_told_by_what_it_holds(tmp_path):
    export = Export()
    export.row("COMPOSITE_EVENTS", id=1, start=5, cpu=0, threadState=1, globalTid=7, cpuCycles=100)
    export.row("SCHED_EVENTS", start=5, cpu=0, isSchedIn=1, globalTid=7)
    export.row("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.7.0")
    held = "holds only samples of the processor and times at which threads ran: no calls, ranges"
    with pytest.raises(UserError, match=held):
        open_fresh(export.sqlite(tmp_path / "samples.sqlite"))
