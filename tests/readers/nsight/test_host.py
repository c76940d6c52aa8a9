"""NVTX ranges, collectives, calls of the operating system and samples."""

from __future__ import annotations

import json
import struct

import pytest

from readers.conformance import check_sample, open_fresh
from readers.nsight.database import (
    DOMAIN,
    MARK,
    PUSH_POP,
    START_END,
    THREAD_NAME,
    Export,
    global_pid,
    global_tid,
)
from stepscope.analyses.host.os_runtime import os_runtime
from stepscope.analyses.host.projected_ranges import projected_ranges
from stepscope.analyses.idle.queue_times import queue_times
from stepscope.model.errors import MissingInputError
from support import Facts

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


def test_names_of_ranges_come_from_texts_strings_and_domains(export, opened):
    export.nvtx(DOMAIN, "lib", 0, None, domainId=4)
    export.nvtx(PUSH_POP, "forward", 0, 100)
    export.nvtx(PUSH_POP, None, 10, 50, textId=export.text("layer"))
    export.nvtx(PUSH_POP, "inside", 20, 30, domainId=4)
    export.nvtx(PUSH_POP, "cut", 35, 40, domainId=5)
    export.nvtx(MARK, "here", 25, None)
    export.nvtx(70, "older", 60, 70)
    trace = opened(export)
    assert rows(trace, "SELECT name, dur, depth, category FROM events ORDER BY ts") == [
        ("forward", 100, 0, "annotation"), ("layer", 40, 1, "annotation"), ("lib:inside", 10, 2, "annotation"),
        ("here", None, 3, "annotation"), ("domain 5:cut", 5, 2, "annotation"), ("older", 10, 1, "annotation"),
    ]  # fmt: skip


def test_ranges_without_a_start_are_counted(export, opened):
    export.nvtx(DOMAIN, "lib", None, None, domainId=4)
    export.nvtx(PUSH_POP, "whole", 0, 100)
    export.nvtx(PUSH_POP, "cut", None, 90)
    # As a page of zeros leaves them.
    export.nvtx(None, None, None, None)
    trace = opened(export)
    assert codes(trace)["events-untimed"] == 2
    assert trace.sql("SELECT name FROM events").to_pydict() == {"name": ["whole"]}


def test_a_domain_number_means_another_domain_in_another_process(export, opened):
    for pid, name in ((7, "one"), (8, "other")):
        export.nvtx(DOMAIN, name, 0, None, domainId=1, globalTid=global_tid(pid))
        export.nvtx(PUSH_POP, "r", pid, 50, domainId=1, globalTid=global_tid(pid))
    assert rows(opened(export), "SELECT name FROM events ORDER BY ts") == [("one:r",), ("other:r",)]


def test_ranges_of_pytorch_are_steps_operators_modules_and_loading(export, opened):
    texts = {
        "ProfilerStep#3, op_id = 1": ("ProfilerStep#3", "step"),
        "aten::mm, seq = 12, op_id = 34, sizes = [[2, 3], [3, 4]], input_op_ids = [(1,0)]": ("aten::mm", "op"),
        "AddmmBackward0, seq = 12, op_id = 40": ("AddmmBackward0", "op"),
        "FSDP::pre_forward (blocks.3), op_id = 41": ("FSDP::pre_forward (blocks.3)", "annotation"),
        "Optimizer.step#AdamW.step, op_id = 42": ("Optimizer.step#AdamW.step", "annotation"),
        "DistributedDataParallel.forward, op_id = 43": ("DistributedDataParallel.forward", "annotation"),
        "torch.distributed.ddp.reducer::copy_bucket_to_grad, op_id = 44": (
            "torch.distributed.ddp.reducer::copy_bucket_to_grad", "op"
        ),
        "flash_attn::_flash_attn_forward, op_id = 44": ("flash_attn::_flash_attn_forward", "op"),
        "record_param_comms, op_id = 45": ("record_param_comms", "op"),
        "nn.Module: Linear_1": ("nn.Module: Linear_1", "module"),
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__, op_id = 2": (
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "dataloader"),
        "my range, seq of things": ("my range, seq of things", "annotation"),
    }  # fmt: skip
    for index, text in enumerate(texts):
        export.nvtx(PUSH_POP, text, 10 * index, 10 * index + 5)
    trace = opened(export)
    assert rows(trace, "SELECT name, category FROM events ORDER BY ts") == list(texts.values())
    query = "SELECT e.name, i.shapes, i.sequence FROM op_inputs i JOIN events e ON e.id = i.event ORDER BY 1"
    assert rows(trace, query) == [
        ("AddmmBackward0", None, 12), ("aten::mm", "[[2, 3], [3, 4]]", 12)
    ]  # fmt: skip
    [(args,)] = rows(trace, "SELECT args FROM events WHERE name = 'AddmmBackward0'")
    assert json.loads(args) == {"text": "AddmmBackward0, seq = 12, op_id = 40"}


def test_a_range_still_open_ends_with_the_recording(export, opened):
    export.nvtx(PUSH_POP, "open", 10, None)
    export.row("ANALYSIS_DETAILS", globalVid=0, duration=500, startTime=0, stopTime=500)
    trace = opened(export)
    assert rows(trace, "SELECT ts, dur FROM events") == [(0, 490)]
    assert codes(trace)["ranges-open"] == 1


def test_start_end_ranges_are_on_their_thread_where_they_nest_with_it(export, opened):
    export.nvtx(START_END, "around", 0, 100, rangeId=1, endGlobalTid=global_tid(7))
    export.nvtx(START_END, "handed over", 10, 90, rangeId=2, endGlobalTid=global_tid(7, 9))
    export.nvtx(START_END, "straddles", 30, 60, rangeId=3)
    export.nvtx(START_END, "crosses", 55, 110, rangeId=4)
    export.call("cudaLaunchKernel_v7000", 40, 50, 1)
    export.call("cudaMalloc_v3020", 57, 70, 2)
    export.kernel("k", 60, 80, 1)
    trace = opened(export)
    found = dict(
        rows(trace, "SELECT e.name, thread FROM events e JOIN tracks t USING (track) WHERE category = 'annotation'")
    )
    assert found == {
        "around": "7 start-end ranges", "handed over": "7 start-end ranges", "straddles": "7 start-end ranges",
        "crosses": "7 start-end ranges",
    }  # fmt: skip


def test_work_launched_in_a_start_end_range_that_nests_is_projected(export, opened):
    export.nvtx(START_END, "around", 0, 100, rangeId=1)
    export.nvtx(START_END, "within", 10, 60, rangeId=1)
    export.nvtx(PUSH_POP, "beside", 70, 90)
    export.call("cudaLaunchKernel_v7000", 40, 50, 1)
    export.kernel("k", 65, 80, 1)
    trace = opened(export)
    found = {row["name"]: (row["total_ns"], row["host_ns"]) for row in projected_ranges(trace).records()}
    assert found == {"around": (15, 100), "within": (15, 50)}
    assert rows(trace, "SELECT m.name FROM kernels k JOIN events m ON m.id = k.module") == [("within",)]


def test_threads_are_labelled_by_the_most_telling_name(export, opened):
    names = {1: ["python", "pt_autograd_0"], 2: ["python"], 3: ["worker"]}
    for tid, listed in names.items():
        for name in listed:
            export.row("ThreadNames", nameId=export.text(name), priority=20, globalTid=global_tid(7, tid))
        export.row("ThreadNames", nameId=export.text("generic"), priority=10, globalTid=global_tid(7, tid))
        export.call("cudaMalloc_v3020", tid, tid + 1, tid, tid=tid)
    export.nvtx(THREAD_NAME, "mine", 0, None, globalTid=global_tid(7, 3))
    trace = opened(export)
    assert rows(trace, "SELECT thread, label FROM tracks ORDER BY 1") == [
        ("1", "pt_autograd_0"),
        ("2", "generic"),
        ("3", "mine"),
    ]


def nccl(export: Export, *, first: int = 100, size_at: int = 8) -> None:
    """Layouts of the collective library: initialisation, collective, send."""
    communicator = ("NCCL communicator ID", 18, None)
    layouts = {
        first: (24, [communicator, ("No. of ranks", 5, 8), ("Rank", 5, 12), ("CUDA device", 5, 16)]),
        first + 4: (16, [communicator, ("Message size [bytes]", 22, size_at)]),
        first + 9: (24, [communicator, ("Message size [bytes]", 22, 8), ("Peer rank", 5, 16)]),
    }
    for schema, (size, fields) in layouts.items():
        key = {"domainId": 1, "schemaId": schema}
        export.row("NVTX_PAYLOAD_SCHEMAS", **key, payloadSize=size)
        for index, (name, kind, offset) in enumerate(fields):
            export.row("NVTX_PAYLOAD_SCHEMA_ENTRIES", **key, idx=index, type=kind, name=name, offset=offset)


def collective(export: Export, name: str, start: int, end: int, **values) -> None:
    export.nvtx(PUSH_POP, None, start, end, domainId=1, textId=export.text(name), **values)


def launch(export: Export, ts: int, correlation: int) -> None:
    export.call("cudaLaunchKernelExC_v11060", ts, ts + 5, correlation)
    export.kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", ts + 10, ts + 20, correlation)


def test_payloads_as_bytes_tell_collectives(export, opened):
    nccl(export)
    collective(export, "ncclCommInitRankConfig", 0, 10, binaryData=struct.pack("<Qiii4x", 0xABC, 8, 3, 0))
    collective(export, "ncclAllReduce", 20, 40, binaryData=struct.pack("<QQ", 0xABC, 4096))
    launch(export, 25, 1)
    trace = opened(export)
    assert rows(trace, 'SELECT "group", collective, bytes FROM collectives') == [("0xabc", "all_reduce", 4096)]
    assert rows(trace, "SELECT e.category FROM collectives c JOIN events e ON e.id = c.event") == [("collective",)]


def test_payloads_as_json_tell_the_size_of_the_group_too(export, opened):
    nccl(export)
    head = '{"NCCL communicator ID": 5, '
    collective(export, "ncclCommInitRank", 0, 10, jsonText=head + '"No. of ranks": 8, "Rank": 3}')
    collective(export, "ncclReduceScatter", 20, 40, jsonText=head + '"Message size [bytes]": 64}')
    launch(export, 25, 1)
    trace = opened(export)
    assert rows(trace, 'SELECT "group", collective, bytes, world_size FROM collectives') == [
        ("0x5", "reduce_scatter", 8 * 64, 8)
    ]
    assert rows(trace, 'SELECT "group", backend, size FROM "groups"') == [("0x5", "nccl", 8)]


def test_one_message_is_not_the_size_of_a_gather_among_unknown_many(export, opened):
    nccl(export)
    collective(export, "ncclAllGather", 20, 40, jsonText='{"NCCL communicator ID": 5, "Message size [bytes]": 64}')
    launch(export, 25, 1)
    trace = opened(export)
    assert rows(trace, "SELECT collective, bytes, world_size FROM collectives") == [("all_gather", None, None)]


def test_a_group_of_calls_is_launched_by_its_end(export, opened):
    nccl(export)
    collective(export, "ncclGroupStart", 0, 1)
    collective(export, "ncclSend", 2, 3, binaryData=struct.pack("<QQii", 5, 100, 1, 0))
    collective(export, "ncclRecv", 4, 5, binaryData=struct.pack("<QQii", 5, 300, 1, 0))
    collective(export, "ncclSend", 6, 7, binaryData=struct.pack("<QQii", 5, 100, 2, 0))
    collective(export, "ncclGroupEnd", 10, 40)
    launch(export, 15, 1)
    trace = opened(export)
    assert rows(trace, 'SELECT "group", collective, bytes FROM collectives') == [("0x5", "send_recv", 300)]


def test_payloads_that_several_layouts_fit_differently_tell_nothing(export, opened):
    nccl(export)
    nccl(export, first=200, size_at=0)
    collective(export, "ncclAllReduce", 20, 40, binaryData=struct.pack("<QQ", 5, 4096))
    launch(export, 25, 1)
    assert rows(opened(export), "SELECT collective, bytes FROM collectives") == [("all_reduce", None)]


def test_payloads_that_can_not_be_read(export, opened):
    nccl(export)
    payloads = [{"binaryData": b"\x01"}, {"jsonText": "{broken"}, {"jsonText": "[1]"}, {}]
    for number, payload in enumerate(payloads):
        collective(export, "ncclAllReduce", 100 * number + 20, 100 * number + 40, **payload)
        launch(export, 100 * number + 25, number + 1)
    found = rows(opened(export), 'SELECT "group", bytes FROM collectives')
    assert found == [("default", None)] * len(payloads)


def test_only_calls_of_the_operating_system_count(export, opened):
    for kind, name, start, end, level in ((27, "poll", 0, 30, 0), (27, "read", 5, 10, 1), (31, "poll", 40, 50, None)):
        export.row(
            "OSRT_API", start=start, end=end, eventClass=kind, globalTid=global_tid(7), nameId=export.text(name),
            returnValue=-1 if name == "read" else 0, nestingLevel=level,
        )  # fmt: skip
    trace = opened(export)
    assert [(row["name"], row["total_ns"], row["threads"]) for row in os_runtime(trace).records()] == [
        ("poll", 30, 1), ("read", 5, 1),
    ]  # fmt: skip
    [(args,)] = rows(trace, "SELECT args FROM events WHERE name = 'read'")
    assert json.loads(args) == {"api": "os_runtime", "nesting_level": 1, "return_value": -1}


def test_no_calls_of_the_operating_system():
    f = Facts()
    f.host("other", "poll", 0, 10)
    with pytest.raises(MissingInputError, match="no calls of the operating system"):
        os_runtime(f.trace())


def test_calls_of_other_libraries(export, opened):
    export.row("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.28.1")
    export.row("MPI_COLLECTIVES_EVENTS", start=0, end=10, globalTid=global_tid(7), textId=export.text("MPI_Allreduce"))
    export.row("CUDNN_EVENTS", start=20, end=30, eventClass=28, globalTid=global_tid(7), nameId=export.text("cudnnAdd"))
    export.row("PROFILER_OVERHEAD", start=40, end=50, globalTid=global_tid(7), nameId=export.text("Buffer flush"))
    trace = opened(export)
    assert rows(trace, "SELECT name, category FROM events ORDER BY ts") == [
        ("mpi:MPI_Allreduce", "annotation"), ("cudnnAdd", "other"), ("Buffer flush", "overhead"),
    ]  # fmt: skip
    assert rows(trace, "SELECT collective FROM collectives") == [("all_reduce",)]


def test_threads_that_could_have_run_are_told_apart(export, opened):
    export.call("cudaMalloc_v3020", 100, 200, 1)
    for start, on, state in ((100, 1, 0), (150, 0, 6), (160, 1, 0), (170, 0, 2)):
        export.row("SCHED_EVENTS", start=start, cpu=3, isSchedIn=on, globalTid=global_tid(7), threadState=state)
    assert rows(opened(export), "SELECT value FROM counters ORDER BY ts") == [(1.0,), (-1.0,), (1.0,), (0.0,)]


def test_samples_become_counters(export, opened):
    export.call("cudaMalloc_v3020", 100, 200, 1)
    for start, on in ((100, 1), (150, 0), (160, 1)):
        export.row("SCHED_EVENTS", start=start, cpu=3, isSchedIn=on, globalTid=global_tid(7))
    export.row("TARGET_INFO_GPU_METRICS", typeId=0x10001, typeName="GA100", metricId=2, metricName="SMs Active [%]")
    export.row("GPU_METRICS", timestamp=110, typeId=0x10001, metricId=2, value=75)
    export.row("GPU_METRICS", timestamp=120, typeId=0x10001, metricId=3, value=5)
    export.row("TARGET_INFO_NETWORK_METRICS", metricsListId=1, metricsIdx=0, name="Bytes sent", description="", unit="")
    export.row("NET_NIC_METRIC", start=130, end=140, globalId=0xA, portId=1, metricsListId=1, metricsIdx=0, value=9)
    export.row("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=140, globalPid=global_pid(7), address=1)
    export.row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=145, globalPid=global_pid(7), deviceId=0, numberOfPageFaults=12)
    trace = opened(export)
    query = "SELECT t.label, c.name, c.ts, value FROM counters c JOIN tracks t USING (track) ORDER BY ts, 2"
    assert rows(trace, query) == [
        ("thread thread 7 on CPU", "on CPU", 0, 1.0),
        ("thread GPU 1 (GA100) SMs Active [%]", "SMs Active [%]", 10, 75.0),
        ("thread GPU 1 (GA100) metric 3", "metric 3", 20, 5.0),
        ("thread NIC 0xa port 1 Bytes sent", "Bytes sent", 30, 9.0),
        ("thread CPU page faults of managed memory", "CPU page faults", 40, 1.0),
        ("thread GPU 0 page faults of managed memory", "GPU page faults", 45, 12.0),
        ("thread thread 7 on CPU", "on CPU", 50, 0.0), ("thread thread 7 on CPU", "on CPU", 60, 1.0),
    ]  # fmt: skip


def test_allocations_of_device_memory(export, opened):
    export.call("cudaMalloc_v3020", 100, 200, 1)
    for start, operation, kind in ((110, 0, 2), (120, 0, 1), (150, 1, 2)):
        export.row(
            "CUDA_GPU_MEMORY_USAGE_EVENTS", start=start, globalPid=global_pid(7), deviceId=0, address=64, bytes=1000,
            memKind=kind, memoryOperationType=operation,
        )  # fmt: skip
    assert rows(opened(export), "SELECT ts, device, address, bytes FROM memory") == [
        (10, 0, 64, 1000), (20, None, 64, 1000), (50, 0, 64, -1000)
    ]  # fmt: skip


def test_what_the_profiler_said_and_who_recorded(export, opened):
    export.kernel("k", 0, 10, 1)
    failed = (3, r"It failed in C:\nsys. \nTry.")
    for severity, text in ((2, "Some events were lost."), failed, (1, "Fine."), (2, "No OpenGL events")):
        export.row("DIAGNOSTIC_EVENT", timestamp=0, source=1, severity=severity, text=text)
    export.row("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value="RANK=3")
    export.row("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value="WORLD_SIZE=8")
    export.row("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value="PASSWORD=secret")
    export.row("META_DATA_CAPTURE", name="PROCESS_0:ARGUMENT_1", value="secret.py")
    export.row("META_DATA_CAPTURE", name="PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", value="Graph")
    export.row("META_DATA_EXPORT", name="EXPORT_PRODUCT_VERSION", value="2025.1")
    export.row("TARGET_INFO_SYSTEM_ENV", globalVid=0, name="Hostname", value="node7")
    trace = opened(export)
    assert rows(trace, "SELECT code, severity, message FROM health WHERE code LIKE 'profiler-%' ORDER BY 1") == [
        ("profiler-failed", "warning", r"messages of the profiler: It failed in C:\nsys. Try"),
        ("profiler-warned", "info", "messages of the profiler: Some events were lost"),
    ]
    [(rank, recording)] = trace.recordings.items()
    assert (rank, recording.rank, recording.world_size, recording.host) == (3, 3, 8, "node7")
    assert recording.attributes == {"nsys_version": "2025.1", "cuda_graph_trace": "Graph"}
    assert "secret" not in str(recording)


def test_queue_times_are_parts_of_the_way_of_a_kernel() -> None:
    f = Facts()
    f.kernel("k", 130, 50, launch=(0, 30))
    f.kernel("k", 210, 10, launch=(200, 40))
    f.kernel("memcpy", 400, 10, launch=(300, 40), kind="copy")
    f.kernel("lone", 500, 10)
    [row] = queue_times(f.trace()).records()
    assert {name: row[name] for name in row if name.endswith("total_ns") or name in ("count", "queued")} == {
        "count": 2, "total_ns": 180 + 40, "call_total_ns": 70, "queued": 1, "queue_total_ns": 100,
        "kernel_total_ns": 60,
    }  # fmt: skip
    assert (row["name"], row["call"], row["thread"], row["device"]) == ("k", "cudaLaunchKernel", "1", 0)
    assert (row["min_ns"], row["max_ns"], row["queue_min_ns"], row["kernel_max_ns"]) == (40, 180, 100, 50)


def test_ranges_reach_from_their_first_to_their_last_work() -> None:
    f = Facts()
    f.host("annotation", "outer", 0, 100)
    f.host("annotation", "inner", 10, 30)
    f.host("annotation", "idle", 90, 5)
    f.kernel("a", 200, 10, launch=(12, 5))
    f.kernel("b", 250, 30, launch=(50, 5))
    f.kernel("elsewhere", 300, 30, launch=(20, 5), thread="2")
    found = {row["name"]: row for row in projected_ranges(f.trace()).records()}
    assert {name: (row["total_ns"], row["activities"], row["device_ns"]) for name, row in found.items()} == {
        "outer": (80, 2, 40), "inner": (10, 1, 10),
    }  # fmt: skip
    assert found["outer"]["host_ns"] == 100
    assert found["outer"]["share"] == 80 / 90


def test_no_ranges_at_all() -> None:
    f = Facts()
    f.kernel("a", 200, 10, launch=(12, 5))
    assert len(projected_ranges(f.trace())) == 0
