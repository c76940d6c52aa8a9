"""A small job, read from every shape in which it may come."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import (
    CANN,
    COMM,
    HARDWARE,
    WORKER,
    at,
    kernel_rows,
    span,
    trace_events,
    write_csv,
    write_database,
    write_text,
)

from readers.conformance import check_invariants, check_splits, check_unusable, open_fresh
from series import series
from stepscope.analyses.registry import analyses
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.readers.ascend.vocabulary import (
    call_category,
    call_name,
    device_kind,
    group_hash,
    operand_type,
    operation,
    part_kind,
    torch_category,
)


def _kernels(trace: Trace) -> list[dict[str, Any]]:
    return trace.sql(
        "SELECT k.name, k.kind, k.ts, k.dur, k.device, k.stream, k.core, k.op_type, o.name AS op, l.name AS launch, "
        "k.step FROM kernels k LEFT JOIN events o ON o.id = k.op LEFT JOIN events l ON l.id = k.launch "
        "ORDER BY k.ts, k.name"
    ).to_pylist()


MM = {
    "name": "aclnnMm_MatMulV2", "kind": "compute", "ts": 200_125, "dur": 100_500, "device": 3, "stream": "2",
    "core": "AI_CORE", "op_type": "MatMulV2", "op": "aten::mm", "launch": "Node@launch", "step": 7,
}  # fmt: skip
ALL_REDUCE = {
    "name": "hcom_allReduce__532_5_1", "kind": "comm", "ts": 250_000, "dur": 150_000, "device": 3,
    "stream": "group 0", "core": None, "op_type": "hcom_allReduce_", "op": "aten::mm", "launch": "Node@launch",
    "step": 7,
}  # fmt: skip
WAIT = {
    "name": "Notify Wait", "kind": "sync", "ts": 255_000, "dur": 3_000, "device": 3, "stream": "2", "core": None,
    "op_type": None, "op": "aten::mm", "launch": "Node@launch", "step": 7,
}  # fmt: skip
COPY = {
    "name": "MEMCPY_ASYNC", "kind": "copy", "ts": 700_000, "dur": 10_000, "device": 3, "stream": "2", "core": None,
    "op_type": None, "op": None, "launch": None, "step": 7,
}  # fmt: skip


@pytest.fixture(scope="module", params=["text", "database"])
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    tmp_path = tmp_path_factory.mktemp("job")
    if request.param == "text":
        write_text(tmp_path / "anything at all")
    else:
        output = tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        write_database(output / "ascend_pytorch_profiler_3.db")
    with open_fresh(tmp_path) as trace:
        yield trace


def test_device_work_has_operator_launch_step_and_core(job: Trace) -> None:
    """The collective has no flow of its own: it is found through the queue."""
    assert _kernels(job) == [MM, ALL_REDUCE, WAIT, COPY]


def test_both_exports_give_the_whole_job(job: Trace) -> None:
    check_invariants(job)
    check_splits(job)
    assert job.ranks == (3,)
    inputs = "SELECT name, shapes, dtypes, stack, sequence FROM op_inputs JOIN events ON id = event"
    assert job.sql(inputs).to_pylist() == [
        {"name": "aten::mm", "shapes": "[[8, 16], [16, 32]]", "dtypes": '["float", "float"]',
         "stack": "a.py(1): f;b.py(2): g", "sequence": 4}
    ]  # fmt: skip
    assert job.sql("SELECT * EXCLUDE (rank, event) FROM collectives").to_pylist() == [
        {"group": group_hash("10.0.0.1%eth0_60000_0_1"), "seq": 5, "collective": "all_reduce", "bytes": 2000,
         "dtype": "FP16", "world_size": 2, "ranks": [0, 3], "peer": None, "transfer_ns": None}
    ]  # fmt: skip
    assert job.sql(
        "SELECT kind, plane, src, dst, transport, link, bytes FROM comm_tasks ORDER BY event"
    ).to_pylist() == [
        {"kind": "wait", "plane": 0, "src": 0, "dst": None, "transport": "LOCAL", "link": None, "bytes": 0},
        {"kind": "copy", "plane": 0, "src": 0, "dst": 1, "transport": "SDMA", "link": "HCCS", "bytes": 4096},
    ]
    assert job.sql("SELECT metric, value FROM kernel_metrics ORDER BY metric").to_pylist() == [
        {"metric": "aic_mac_ratio", "value": 0.5},
        {"metric": "aic_total_time", "value": 90_250.0},
    ]
    assert job.sql("SELECT name, value FROM counters").to_pylist() == [{"name": "AI Core Freq MHz", "value": 1800.0}]
    assert job.sql('SELECT "group", description, size, ranks FROM groups').to_pydict()["description"] == ["dp"]


def test_parts_of_collectives_are_of_their_step(job: Trace) -> None:
    steps = "SELECT DISTINCT e.step FROM comm_tasks p JOIN events e ON e.id = p.event"
    assert job.sql(steps).to_pylist() == [{"step": 7}]


def test_the_step_budget_of_the_small_job(job: Trace) -> None:
    [step] = [r for r in analyses()["step_budget"].run(job).records() if r["step"] is not None]
    assert step["total_ns"] == 1_000_000
    assert step["compute_ns"] == 100_500
    assert step["exposed_comm_ns"] == 400_000 - 300_625
    assert step["exposed_copy_ns"] == 10_000


def test_level_0_has_launches_through_the_queue(tmp_path: Path) -> None:
    """Without calls of CANN the end of a flow tells which event took the task off the queue."""
    events = [
        e for e in trace_events() if not str(e.get("name", "")).startswith(("Node@", "AscendCL@", "Plane", "Memcpy"))
    ]
    for ph, pid, tid, ts in (("s", CANN, WORKER, 135), ("f", HARDWARE, 2, 200.125)):
        events.append(
            {"ph": ph, "name": "HostToDevice", "id": "123456789012345678901", "pid": pid, "tid": tid,
             "ts": at(ts), "cat": "HostToDevice"}
        )  # fmt: skip
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps(events))
    with open_fresh(path) as trace:
        [kernel] = [k for k in _kernels(trace) if k["kind"] == "compute"]
        assert kernel["launch"] == "Dequeue@aclnnMm"
        assert kernel["op"] == "aten::mm"


def test_level_0_has_waits_and_transfers_of_collectives_on_streams(tmp_path: Path) -> None:
    """Without planes the tasks of streams that ran during a collective are its parts."""
    events = [e for e in trace_events() if not (e["pid"] == COMM and e["tid"] == 1)]
    hard = {"Model Id": 4294967295, "Physic Stream Id": 2}
    events += [
        span(HARDWARE, 4, "SDMA", 270, 20, args={**hard, "Task Type": "SDMA"}),
        span(HARDWARE, 4, "Notify Wait", 500, 5, args={**hard, "Task Type": "Notify Wait"}),  # after it
    ]
    (tmp_path / "trace_view.json").write_text(json.dumps(events))
    with open_fresh(tmp_path) as trace:
        assert trace.sql(
            "SELECT p.kind, e.ts, e.dur, c.name FROM comm_tasks p JOIN events e ON e.id = p.event "
            "JOIN events c ON c.id = p.collective ORDER BY e.ts"
        ).to_pylist() == [
            {"kind": "wait", "ts": 255_000, "dur": 3_000, "name": "hcom_allReduce__532_5_1"},
            {"kind": "copy", "ts": 270_000, "dur": 20_000, "name": "hcom_allReduce__532_5_1"},
        ]


def test_the_other_name_of_the_communication_process(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(json.dumps(trace_events("Communication")).encode()))
    with open_fresh(path) as trace:
        assert trace.recordings[trace.ranks[0]].reader == "ascend"
        assert trace.scalar("SELECT kind FROM kernels WHERE name LIKE 'hcom%'") == "comm"


def test_older_numbering_of_processes(tmp_path: Path) -> None:
    """Small process ids of 2023, and the stream under its older name."""
    text = json.dumps(trace_events()).replace(str(HARDWARE), "800").replace("Physic Stream Id", "Stream Id")
    (tmp_path / "trace_view.json").write_text(text)
    with open_fresh(tmp_path) as trace:
        assert trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute' AND device IS NULL") == 1


@pytest.mark.parametrize(
    ("columns", "metrics"),
    [
        (
            {"Block Num": "24", "aic_l1_read_bw(GB/s)": "1.5", "aiv_ub_read_bw_vector(GB/s)": "2",
             "aic_write_cache_hit": "7", "mac_time(us)": "4.5", "memory_bound": "0.5"},
            {"aic_l1_read_bw": 1.5e9, "aiv_ub_read_bw_vector": 2e9, "aic_write_cache_hit": 7.0, "mac_time": 4500.0},
        ),
        (
            {"Device_id": "3", "Block Dim": "24", "aic_cube_fops": "1024", "aiv_vec_bankgroup_cflt_ratio": "0.25",
             "aic_GM_to_L1_datas(KB)": "3", "cube_utilization(%)": "66.5"},
            {"aic_cube_fops": 1024.0, "aiv_vec_bankgroup_cflt_ratio": 0.25, "aic_GM_to_L1_datas": 3072.0,
             "cube_utilization": 0.665},
        ),
    ],
)  # fmt: skip
def test_every_set_of_counters(tmp_path: Path, columns: dict[str, str], metrics: dict[str, float]) -> None:
    write_csv(tmp_path / "kernel_details.csv", kernel_rows(**columns))
    with open_fresh(tmp_path) as trace:
        rows = trace.sql("SELECT metric, value FROM kernel_metrics").to_pylist()
    found = {row["metric"]: row["value"] for row in rows}
    assert {metric: found.get(metric) for metric in metrics} == pytest.approx(metrics)
    assert not set(found) & {"Block Num", "Block Dim", "Device_id", "Stream ID"}


def test_kernel_details_alone(tmp_path: Path) -> None:
    write_csv(tmp_path / "kernel_details.csv", kernel_rows())
    with open_fresh(tmp_path / "kernel_details.csv") as trace:
        check_invariants(trace)
        assert trace.sql("SELECT name, kind, dur, core, stream FROM kernels ORDER BY ts").to_pylist() == [
            {"name": "aclnnMm_MatMulV2", "kind": "compute", "dur": 100_500, "core": "AI_CORE", "stream": "2"},
            {"name": "hcom_allReduce__532_5_1", "kind": "comm", "dur": 150_000, "core": None, "stream": "group 0"},
        ]


def test_a_trace_that_was_cut_is_completed_from_kernel_details(tmp_path: Path) -> None:
    output = write_text(tmp_path / "x_ascend_pt")
    text = (output / "trace_view.json").read_text()
    (output / "trace_view.json").write_text(text[: text.index('"name": "aclnnMm_MatMulV2"') - 40])
    with open_fresh(tmp_path) as trace:
        codes = set(trace.sql("SELECT code FROM health").to_pydict()["code"])
        assert "truncated" in codes
        assert trace.scalar("SELECT count(*) FROM kernels WHERE kind IN ('compute', 'comm')") == 2
        assert trace.scalar("SELECT core FROM kernels WHERE kind = 'compute'") == "AI_CORE"


def test_many_ranks_in_one_folder(tmp_path: Path) -> None:
    for rank in (4, 1):
        write_text(tmp_path / f"node_{rank}", rank)
    for rank in (6, 7):
        write_database(tmp_path / f"ascend_pytorch_profiler_{rank}.db")
    with open_fresh(tmp_path) as trace:
        assert trace.ranks == (1, 4, 6, 7)
        assert trace.scalar("SELECT count(DISTINCT rank) FROM kernels WHERE kind = 'comm'") == 4


def test_files_that_are_missing_are_said(tmp_path: Path) -> None:
    output = write_text(tmp_path / "x")
    (output / "kernel_details.csv").unlink()
    (output / "operator_memory.csv").write_text("")
    with open_fresh(tmp_path) as trace:
        health = {row["code"] for row in trace.sql("SELECT code FROM health").to_pylist()}
        assert "no-kernel-details" in health
        assert trace.scalar("SELECT core FROM kernels WHERE kind = 'compute'") is None


def test_nulls_in_the_header_of_a_file(tmp_path: Path) -> None:
    output = write_text(tmp_path / "x")
    (output / "step_trace_time.csv").write_bytes(b"Step,Computing,Commu\0\0\0,Free\n7,100.5,1,2\n")
    with open_fresh(tmp_path) as trace:
        found = trace.sql("SELECT metric, value FROM recorded WHERE source = 'steps' ORDER BY value").to_pylist()
        assert [row["value"] for row in found] == [1, 2, 100.5]
        assert found[-1]["metric"] == "Computing"


def test_a_folder_with_nothing_of_use(tmp_path: Path) -> None:
    output = tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "trace_view.json").write_text("[]")
    check_unusable(tmp_path)


@pytest.mark.parametrize(
    "table", series(["PYTORCH_API", "CANN_API", "TASK", "STRING_IDS", "COMPUTE_TASK_INFO", "CONNECTION_IDS"], 3)
)
def test_a_database_without_a_table(tmp_path: Path, table: str) -> None:
    path = write_database(tmp_path / "ascend_pytorch_profiler_3.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"DROP TABLE {table}")
    with open_fresh(path) as trace:
        check_invariants(trace)
        assert trace.scalar("SELECT count(*) FROM events") > 0


def test_a_database_in_which_keys_occur_twice(tmp_path: Path) -> None:
    path = write_database(tmp_path / "ascend_pytorch_profiler_3.db")
    tables = ("STRING_IDS", "TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "ENUM_HCCL_LINK_TYPE")
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in tables:
            connection.execute(f"INSERT INTO {table} SELECT * FROM {table}")
    with open_fresh(path) as trace:
        check_invariants(trace)
        assert [row["name"] for row in _kernels(trace)][:2] == [MM["name"], ALL_REDUCE["name"]]


@pytest.mark.parametrize("share", series([0.02, 0.3, 0.6, 0.9, 0.99], 3))
def test_a_database_that_was_cut(tmp_path: Path, share: float) -> None:
    whole = write_database(tmp_path / "ascend_pytorch_profiler_3.db").read_bytes()
    path = tmp_path / "ascend_pytorch_profiler_4.db"
    path.write_bytes(whole[: int(len(whole) * share)])
    if share < 0.1:
        check_unusable(path)
        return
    with open_fresh(path) as trace:
        check_invariants(trace)
        assert "input-damaged" in set(trace.sql("SELECT code FROM health").to_pydict()["code"])


def test_words() -> None:
    assert device_kind("KERNEL_MIX_AIC", "x") == "compute"
    assert device_kind("PCIE_DMA_SQE", "MEMCPY_ASYNC") == "copy"
    assert device_kind("NOTIFY_WAIT_SQE", "NOTIFY_WAIT") == "sync"
    assert device_kind("PLACE_HOLDER_SQE", "EVENT_RECORD") == "sync"
    assert device_kind("PLACE_HOLDER_SQE", "PROFILING_ENABLE") == "overhead"
    assert device_kind("SDMA", "SDMA") == "part"
    assert operand_type("INT32;FLOAT;FLOAT", "NO") == "fp32"
    assert operand_type("INT32;FLOAT;FLOAT", "YES") == "tf32"
    assert operand_type("DT_BF16;INT64", None) == "bf16"
    assert operand_type("INT64;BOOL", "NO") == "int64"
    assert operand_type("UNDEFINED", None) is None
    assert part_kind("Notify_Record") == "signal"
    assert part_kind("RDMASend") == "send"
    assert torch_category("cpu_op", "ProfilerStep#3") == "step"
    assert torch_category("python_function", "nn.Module: Linear_3") == "module"
    assert call_name("acl", "AscendCL@aclrtMalloc") == call_name("acl", "aclrtMalloc") == "aclrtMalloc"
    assert call_name("node", "launch") == call_name("node", "Node@launch") == "Node@launch"
    assert call_category("aclrtSynchronizeStreamWithTimeout") == "sync"
    assert call_category("Node@launch") == call_category("aclrtMemcpyAsync") == "launch"
    assert call_category("aclnnMm") == "runtime"
    assert operation("hcom_reduceScatter__271_12_1") == ("reduce_scatter", "271", 12)
    assert operation("hcom_receive__128_3_1") == ("recv", "128", 3)
    assert operation("something else") == ("other", None, None)


def _health(path: Path) -> Counter[str]:
    with open_fresh(path) as trace:
        found: Counter[str] = Counter()
        for row in trace.sql("SELECT code, count FROM health").to_pylist():
            found[row["code"]] += row["count"]
        return found


class TestDamageIsSaidOfTheFile:
    @pytest.fixture
    def output(self, tmp_path: Path) -> Path:
        output = write_text(tmp_path)
        rows = [{"OP Type": name, "Count": "1", "Total Time(us)": "5.5"} for name in ("MatMul", "Add", "Mul")]
        write_csv(output / "op_statistic.csv", rows)
        return output

    @pytest.mark.usefixtures("output")
    def test_clean_tables_have_none(self, tmp_path: Path) -> None:
        assert not set(_health(tmp_path)) & {"file-empty", "truncated", "cells-unreadable", "file-unreadable"}

    def test_a_trace_of_random_bytes_is_named(self, tmp_path: Path, output: Path) -> None:
        (output / "trace_view.json").write_bytes(bytes(range(256)) * 40)
        assert _health(tmp_path)["file-unreadable"] == 1

    @pytest.mark.parametrize("names", [("op_statistic.csv", "kernel_details.csv"), ("trace_view.json",)])
    def test_emptied_is_not_absent(self, tmp_path: Path, output: Path, names: tuple[str, ...]) -> None:
        for name in names:
            (output / name).write_bytes(b"")
        found = _health(tmp_path)
        assert found["file-empty"] == len(names)
        assert not set(found) & {"no-trace-view", "no-kernel-details"}

    def test_single_cells_and_a_row_that_is_cut_in_its_middle_are_counted(self, tmp_path: Path, output: Path) -> None:
        text = (output / "op_statistic.csv").read_text()
        (output / "op_statistic.csv").write_text(text[:-4].replace("5.5", "?", 1))
        found = _health(tmp_path)
        assert (found["cells-unreadable"], found["truncated"]) == (1, 1)

    def test_a_cut_database_is_damaged(self, tmp_path: Path) -> None:
        path = write_database(tmp_path / "ascend_pytorch_profiler_3.db")
        path.write_bytes(path.read_bytes()[:5000])
        check_unusable(path)
        with pytest.raises(UserError, match="damaged"):
            open_fresh(path)
