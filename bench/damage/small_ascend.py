"""A small result in both exports: a step, one operator on the queue, its kernel, a collective and a copy."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

#: µs; sums with it need all digits of the recorded times.
START = 1_700_000_000_000_000
PROCESS, WORKER = 3_000_000, 3_000_001
HARDWARE, COMM, CANN, OVERLAP = ((PROCESS << 10) | (index << 5) | 3 for index in (13, 15, 7, 23))
GROUP = "10.0.0.1%eth0_60000_0_1"

#: The database's types of calls.
OP, QUEUE, NODE, ACL = 50001, 50002, 10000, 20000


def at(microseconds: float) -> str:
    """A time as the trace writes it."""
    return f"{START + int(microseconds)}.{round(microseconds % 1 * 1000):03d}"


def span(pid: int, tid: int, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    """An interval of the trace."""
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": at(ts), "dur": dur, **more}


def flow(ph: str, cat: str, key: Any, pid: int, tid: int, ts: float) -> dict[str, Any]:
    """One end of a flow of the trace."""
    return {"ph": ph, "bp": "e", "name": cat, "id": key, "pid": pid, "tid": tid, "ts": at(ts), "cat": cat}


def named(pid: int, name: str, **threads: str) -> list[dict[str, Any]]:
    """Metadata of a process of the trace; threads by `t` and number."""
    found = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}]
    for tid, thread in threads.items():
        number = int(tid[1:])
        found.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": number, "args": {"name": thread}})
        found.append(
            {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": number, "args": {"sort_index": number}}
        )
    return found


def trace_events(comm_name: str = "HCCL") -> list[dict[str, Any]]:
    """The events of the job as a trace of level 1."""
    hard = {"Model Id": 4294967295, "Physic Stream Id": 2}
    part = {"transport type": "SDMA", "link type": "HCCS", "src rank": 0, "dst rank": 1, "size(Byte)": 4096}
    return [
        *named(PROCESS, "Python"),
        span(PROCESS, PROCESS, "ProfilerStep#7", 0, 1000, cat="cpu_op", args={"Sequence number": -1}),
        span(
            PROCESS, PROCESS, "aten::mm", 100.5, 50.25, cat="cpu_op",
            args={"Sequence number": 4, "Fwd thread id": 0, "Input Dims": "8,16;\r\n16,32",
                  "Input type": "float;\r\nfloat",
                  "Call stack": "a.py(1): f;\r\nb.py(2): g"},
        ),
        span(PROCESS, PROCESS, "Enqueue", 120, 2, cat="enqueue", args={"correlation_id": 9}),
        span(PROCESS, WORKER, "Dequeue@aclnnMm", 130, 20, cat="dequeue", args={"correlation_id": 9}),
        flow("s", "async_task_queue", 9, PROCESS, PROCESS, 120),
        flow("f", "async_task_queue", 9, PROCESS, WORKER, 130),
        flow("s", "async_npu", 77, PROCESS, PROCESS, 100.5),
        flow("f", "async_npu", 77, HARDWARE, 2, 200.125),
        *named(CANN, "CANN"),
        span(CANN, WORKER, "AscendCL@aclnnMm", 132, 15, args={"level": "acl", "connection_id": 20}),
        span(CANN, WORKER, "Node@launch", 135, 5, args={"level": "node", "connection_id": 21}),
        span(CANN, WORKER, "Node@launch", 141, 5, args={"level": "node", "connection_id": 22}),
        span(CANN, PROCESS, "AscendCL@aclrtSynchronizeStream", 400, 500, args={"level": "acl", "connection_id": 23}),
        *named(HARDWARE, "Ascend Hardware", t2="Stream 2"),
        span(HARDWARE, 2, "aclnnMm_MatMulV2", 200.125, 100.5,
             args={**hard, "Task Type": "AI_CORE", "connection_id": 21}),
        span(HARDWARE, 2, "MEMCPY_ASYNC", 700, 10, args={**hard, "Task Type": "SDMA_SQE"}),
        span(HARDWARE, 2, "Notify Wait", 255, 3, args={**hard, "Task Type": "Notify Wait", "connection_id": 22}),
        *named(COMM, comm_name, t0="Group 0 Communication", t1="Plane 0"),
        span(COMM, 0, "hcom_allReduce__532_5_1", 250, 150,
             args={"connection_id": 22, "data_type": "FP16", "alg_type": "MESH-RING", "count": 1000}),
        span(COMM, 1, "Notify_Wait", 255, 3, args={"task type": "Notify_Wait", "transport type": "LOCAL",
                                                  "link type": "INVALID_TYPE", "src rank": 0, "dst rank": 4294967295,
                                                  "size(Byte)": 0}),
        span(COMM, 1, "Memcpy", 260, 40, args={"task type": "Memcpy", **part}),
        *named(OVERLAP, "Overlap Analysis", t0="Computing"),
        span(OVERLAP, 0, "Computing", 200.125, 100.5),
        {"ph": "C", "pid": HARDWARE + 32, "tid": 0, "name": "AI Core Freq", "ts": at(1), "args": {"MHz": 1800}},
        *named(HARDWARE + 32, "AI Core Freq"),
    ]  # fmt: skip


def kernel_rows(**more: str) -> list[dict[str, str]]:
    """Rows of `kernel_details.csv`, with further columns."""
    common = {"Step Id": "7", "Stream ID": "2"}
    return [
        {**common, "Name": "aclnnMm_MatMulV2", "Type": "MatMulV2", "Accelerator Core": "AI_CORE",
         "Start Time(us)": at(200.125) + "\t", "Duration(us)": "100.5", "Wait Time(us)": "0", **more},
        {**common, "Name": "hcom_allReduce__532_5_1", "Type": "hcom_allReduce_", "Accelerator Core": "HCCL",
         "Start Time(us)": at(250) + "\t", "Duration(us)": "150.0", "Wait Time(us)": "0",
         **dict.fromkeys(more, "N/A"), "Stream ID": "N/A"},
    ]  # fmt: skip


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    """Write rows as a CSV file."""
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_text(folder: Path, rank: int = 3) -> Path:
    """The result as text, in the folder's layout; returns the output folder."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    info = {"config": {"experimental_config": {"_profiler_level": "Level1"}}, "rank_id": rank}
    (folder / f"profiler_info_{rank}.json").write_text(json.dumps(info))
    groups = {GROUP: {"group_name": "dp", "group_rank": 0, "global_ranks": [0, 3]}}
    (folder / "profiler_metadata.json").write_text(
        json.dumps({"parallel_group_info": groups, "ENV_VARIABLES": {"HCCL_ALGO": "ring"}})
    )
    (output / "trace_view.json").write_text(json.dumps(trace_events()))
    write_csv(output / "kernel_details.csv", kernel_rows(**{"aic_mac_ratio": "0.5", "aicore_time(us)": "90.25"}))
    return output


def write_database(path: Path) -> Path:
    """The same job as a database."""
    strings: dict[str, int] = {}

    def s(text: str) -> int:
        return strings.setdefault(text, len(strings))

    def ns(microseconds: float) -> int:
        return START * 1000 + round(microseconds * 1000)

    main, worker = PROCESS << 32 | PROCESS, PROCESS << 32 | WORKER
    tables: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
        "PYTORCH_API": (
            "startNs TEXT, endNs TEXT, globalTid, connectionId, name, sequenceNumber, fwdThreadId, inputDtypes, "
            "inputShapes, callchainId, type",
            [
                (str(ns(0)), str(ns(1000)), main, None, s("ProfilerStep#7"), -1, 0, None, None, None, OP),
                (str(ns(100.5)), str(ns(150.75)), main, 1, s("aten::mm"), 4, 0, s("float;\r\nfloat"),
                 s("8,16;\r\n16,32"), 0, OP),
                (str(ns(120)), str(ns(122)), main, 2, s("Enqueue"), None, None, None, None, None, QUEUE),
                (str(ns(130)), str(ns(150)), worker, 3, s("Dequeue@aclnnMm"), None, None, None, None, None, QUEUE),
            ],
        ),
        "CONNECTION_IDS": ("id, connectionId", [(1, 21), (2, 9), (3, 9)]),
        "PYTORCH_CALLCHAINS": ("id, stack, stackDepth", [(0, s("b.py(2): g"), 1), (0, s("a.py(1): f"), 0)]),
        "CANN_API": (
            "startNs, endNs, type, globalTid, connectionId, name",
            [
                (ns(132), ns(147), ACL, worker, 20, s("aclnnMm")),
                (ns(135), ns(140), NODE, worker, 21, s("launch")),
                (ns(141), ns(146), NODE, worker, 22, s("launch")),
                (ns(400), ns(900), ACL, main, 23, s("aclrtSynchronizeStream")),
            ],
        ),
        "TASK": (
            "startNs, endNs, deviceId, connectionId, globalTaskId, taskType, streamId, taskId, modelId",
            [
                (ns(200.125), ns(300.625), 3, 21, 0, s("KERNEL_AICORE"), 2, 1, 4294967295),
                (ns(700), ns(710), 3, 4294967295, 1, s("MEMCPY_ASYNC"), 2, 2, 4294967295),
                (ns(255), ns(258), 3, 22, 2, s("Notify Wait"), 2, 3, 4294967295),
                (ns(260), ns(300), 3, 22, 3, s("SDMA"), 2, 4, 4294967295),
            ],
        ),
        "COMPUTE_TASK_INFO": (
            "name, globalTaskId, blockDim, taskType, opType",
            [(s("aclnnMm_MatMulV2"), 0, 8, s("AI_CORE"), s("MatMulV2"))]
        ),
        "COMMUNICATION_OP": (
            "opName, startNs, endNs, connectionId, groupName, opId, dataType, algType, count, opType",
            [(s("hcom_allReduce__532_5_1"), ns(250), ns(400), 22, s(GROUP), 1, 3, s("MESH-RING"), 1000,
              s("hcom_allReduce_"))],
        ),
        "COMMUNICATION_TASK_INFO": (
            "name, globalTaskId, taskType, planeId, groupName, srcRank, dstRank, transportType, size, linkType, opId",
            [
                (0, 2, s("Notify_Wait"), 0, s(GROUP), 0, 4294967295, 2, 0, 65535, 1),
                (0, 3, s("Memcpy"), 0, s(GROUP), 0, 1, 0, 4096, 1, 1),
            ],
        ),
        "TASK_PMU_INFO": (
            "globalTaskId, name, value", [(0, s("aic_mac_ratio"), 0.5), (0, s("aic_total_time"), 90250.0)]),
        "ENUM_HCCL_DATA_TYPE": ("id, name", [(3, "FP16")]),
        "ENUM_HCCL_TRANSPORT_TYPE": ("id, name", [(0, "SDMA"), (2, "LOCAL")]),
        "ENUM_HCCL_LINK_TYPE": ("id, name", [(1, "HCCS"), (65535, "INVALID_TYPE")]),
        "AICORE_FREQ": ("deviceId, timestampNs, freq", [(3, ns(1), 1800)]),
        "RANK_DEVICE_MAP": ("rankId, deviceId", [(3, 3)]),
        "META_DATA": ("name, value", [("parallel_group_info", json.dumps(
            {GROUP: {"group_name": "dp", "group_rank": 0, "global_ranks": [0, 3]}})),
            ("ENV_VARIABLES", json.dumps({"HCCL_ALGO": "ring"}))]),
        "SOMETHING_NEW": ("what, ever", [(1, 2)]),
    }  # fmt: skip
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join("?" * len(columns.split(",")))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        connection.execute("CREATE TABLE STRING_IDS (id, value)")
        connection.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", [(i, text) for text, i in strings.items()])
    return path
