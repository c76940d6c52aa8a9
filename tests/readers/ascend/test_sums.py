"""Ranks of which only the profiler's sums are at hand, and steps that only tables tell."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import START, at, write_csv

from readers.conformance import open_fresh
from stepscope.analyses.registry import analyses
from stepscope.model.sizes import SIZES
from stepscope.readers.ascend.vocabulary import group_hash
from stepscope.signals import Signals
from stepscope.signals.communication import cluster, communication, pipeline
from stepscope.signals.shared import job

GROUP = "group_name_19"
HASH = "8557218874045301532"


def operation(start: float, elapse_ms: float, moved_ms: float, size_mb: float) -> dict[str, Any]:
    """A collective as `communication.json` sums it up. Times of waiting are not reliable there."""
    link = {"Transit Size(MB)": size_mb, "Transit Time(ms)": moved_ms, "Bandwidth(GB/s)": 20.0}
    return {
        "Communication Time Info": {
            "Start Timestamp(us)": START + start, "Elapse Time(ms)": elapse_ms, "Transit Time(ms)": 0,
            "Wait Time(ms)": 0, "Idle Time(ms)": elapse_ms,
        },
        "Communication Bandwidth Info": {"HCCS": link, "SDMA": link, "RDMA": {"Transit Size(MB)": 0}},
    }  # fmt: skip


def write_sums(folder: Path, *, rank: int = 1, overlapped: str = "0.0") -> Path:
    """A step of 100 ms: 30 ms compute, 60 ms communication, 10 ms free; a receive, and an all-reduce of 2 ranks."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    groups = {
        GROUP: {"group_name": "pp", "group_rank": 0, "global_ranks": [1, 3]},
        "g5": {"group_name": "dp_cp", "group_rank": 1, "global_ranks": [0, 1]},
    }
    (folder / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": str(rank)}))
    (folder / "profiler_metadata.json").write_text(json.dumps({"parallel_group_info": groups}))
    communication_ = {
        "step13": {
            "p2p": {
                f"hcom_batchSendRecv__128_4_1@{group_hash(GROUP)}": operation(1000, 50.0, 0.5, 8.0),
                "Total Op Info": operation(0, 50.0, 0.5, 8.0),
            },
            "collective": {f"hcom_allReduce__097_5_1@{group_hash('g5')}": operation(80_000, 10.0, 9.5, 100.0)},
        }
    }
    (output / "communication.json").write_text(json.dumps(communication_))
    columns = ("Device_id", "Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free")
    values = ("1", "13", "30000.0", "60000.0", overlapped, "60000.0", "10000.0")
    write_csv(output / "step_trace_time.csv", [dict(zip(columns, values, strict=True))])
    return output


def test_a_rank_with_sums_has_steps_collectives_and_a_budget(tmp_path: Path) -> None:
    write_sums(tmp_path / "rank")
    with open_fresh(tmp_path) as trace:
        assert trace.ranks == (1,)
        [step] = [row for row in analyses()["step_budget"].run(trace).records() if row["step"] is not None]
        assert {name: step[name] for name in ("number", "total_ns", "compute_ns", "exposed_comm_ns", "idle_ns")} == {
            "number": 13, "total_ns": 100_000_000, "compute_ns": 30_000_000, "exposed_comm_ns": 60_000_000,
            "idle_ns": 10_000_000,
        }  # fmt: skip
        calls = analyses()["collective_calls"].run(trace).records()
        assert [(c["name"], c["dur"], c["bytes"], c["exposed_ns"], c["step"]) for c in calls] == [
            ("send_recv", 50_000_000, 8_000_000, 50_000_000, 13),
            ("all_reduce", 10_000_000, 100_000_000, 10_000_000, 13),
        ]
        assert calls[1]["ts"] - calls[0]["ts"] == 79_000_000
        groups = {row["name"]: row["group"] for row in analyses()["collectives"].run(trace).records()}
        assert groups == {"send_recv": "pp of ranks 1, 3", "all_reduce": "dp_cp of ranks 0, 1"}
        [idle] = [row for row in analyses()["idle_causes"].run(trace).records() if row["step"] is not None]
        assert (idle["detail"], idle["total_ns"]) == ("host not recorded", 10_000_000)
        codes = {row["code"] for row in trace.sql("SELECT code FROM health").to_pylist()}
        assert "sums-only" in codes
        assert "no-device" not in codes


def test_transfer_is_told_from_waiting_and_the_bubble_found(tmp_path: Path) -> None:
    write_sums(tmp_path / "rank")
    with open_fresh(tmp_path) as trace:
        s = Signals.of(trace)
        assert s(communication.calls).transfer.tolist() == [500_000, 9_500_000]
        assert s(communication.calls).told.all()
        found = s(pipeline.stage)
        assert (found.ranks, found.position, found.bubble_ns, found.compute_ns) == ((1, 3), 0, 49_500_000, 30_000_000)
        assert (found.arrivals, s(job.step_ns)) == (1.0, 100_000_000)


def test_what_was_overlapped_is_shared_among_the_calls_of_the_step(tmp_path: Path) -> None:
    write_sums(tmp_path / "rank", overlapped="6000.0")
    with open_fresh(tmp_path) as trace:
        calls = analyses()["collective_calls"].run(trace).records()
        assert [(call["overlapped_ns"], call["exposed_ns"]) for call in calls] == [
            (5_000_000, 45_000_000), (1_000_000, 9_000_000)
        ]  # fmt: skip


def test_without_sums_of_steps_exposure_is_not_known(tmp_path: Path) -> None:
    output = write_sums(tmp_path / "rank")
    (output / "step_trace_time.csv").unlink()
    with open_fresh(tmp_path) as trace:
        calls = analyses()["collective_calls"].run(trace).records()
        assert [call["exposed_ns"] for call in calls] == [None, None]


def test_a_rank_of_sums_waits_for_others(tmp_path: Path) -> None:
    write_sums(tmp_path / "rank")
    with open_fresh(tmp_path) as trace:
        # 10 ms of an all-reduce with 9.5 ms of transfer; waits of the pipeline are its bubble.
        assert Signals.of(trace)(cluster.waited_ns) == 500_000


@pytest.mark.parametrize(("links", "staged"), [(("0-0", "0-1"), True), (("0-1", "0-2"), False)])
def test_a_pair_that_only_sends_and_receives_is_two_stages(
    tmp_path: Path, links: tuple[str, ...], staged: bool
) -> None:
    output = write_sums(tmp_path / "rank")
    (tmp_path / "rank" / "profiler_metadata.json").unlink()
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 8.0, "Transit Time(ms)": 0.4}
    told = {"step13": {"p2p": {f"batchsendrecv-total@{group_hash(GROUP)}": dict.fromkeys(links, link)}}}
    (output / "communication_matrix.json").write_text(json.dumps(told))
    with open_fresh(tmp_path) as trace:
        found = Signals.of(trace).maybe(pipeline.stage)
        assert (found is not None) == staged
        names = {row["group"] for row in analyses()["collectives"].run(trace).records()}
        assert f"group {group_hash(GROUP)[-3:]}" in names


def test_sums_of_a_database_serve_as_well(tmp_path: Path) -> None:
    output = tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    with closing(sqlite3.connect(output / "analysis.db")) as connection, connection:
        connection.execute(
            "CREATE TABLE CommAnalyzerTime (hccl_op_name, group_name, start_timestamp, elapse_time, transit_time, "
            "wait_time, synchronization_time, idle_time, step, type)"
        )
        connection.execute(
            "INSERT INTO CommAnalyzerTime VALUES ('hcom_allReduce__097_5_1', '1', ?, 10.0, 0, 0, 0, 0, 'step13', "
            "'collective')", [START + 50.0],
        )  # fmt: skip
        connection.execute(
            "CREATE TABLE StepTraceTime (deviceId, step, computing, communication_not_overlapped, overlapped, "
            "communication, free)"
        )
        connection.execute("INSERT INTO StepTraceTime VALUES (0, '13', 5000.0, 10000.0, 0, 10000.0, 1000.0)")
    with open_fresh(tmp_path) as trace:
        [step] = [row for row in analyses()["step_budget"].run(trace).records() if row["step"] is not None]
        assert (step["total_ns"], step["end_ns"]) == (16_000_000, 16_000_000)  # it ends with its last collective
        # Without sizes nothing tells how much of it was waiting.
        assert trace.scalar("SELECT transfer_ns FROM collectives") is None


def test_sums_above_the_limits_are_left_out_and_said(tmp_path: Path) -> None:
    output = write_sums(tmp_path / "rank")
    with closing(sqlite3.connect(output / "analysis.db")) as connection, connection:
        keys = "type, hccl_op_name, group_name, src_rank, dst_rank, transport_type, op_name"
        connection.execute(f"CREATE TABLE CommAnalyzerMatrix ({keys})")
        rows = [("collective", name, "1", 0, 1, "HCCS", name) for name in "abc"]
        connection.executemany("INSERT INTO CommAnalyzerMatrix VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    with SIZES.changed(sums_bytes=100, table_rows=2), open_fresh(tmp_path) as trace:
        said = [row["message"] for row in trace.rows("SELECT message FROM health WHERE code = 'file-unreadable'")]
    assert any(message.startswith("communication.json") for message in said)
    assert any("analysis.db" in message for message in said)
    with open_fresh(tmp_path) as trace:
        assert trace.scalar("SELECT count(*) FROM health WHERE code = 'file-unreadable'") == 0


@pytest.mark.parametrize("name", ["communication.json", "step_trace_time.csv"])
def test_one_file_of_a_common_name_is_a_result_by_what_it_holds(tmp_path: Path, name: str) -> None:
    output = write_sums(tmp_path / "rank")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (output / name).rename(elsewhere / name)
    from stepscope.readers.ascend.files import is_result

    assert is_result(elsewhere)
    (elsewhere / name).write_text('{"team": "mail"}\n')
    assert not is_result(elsewhere)
    assert is_result(output)


def test_steps_of_kernel_details_have_their_numbers(tmp_path: Path) -> None:
    """A step reaches to the start of the next one, but not over work that is of no step."""
    rows = [
        {"Step Id": step, "Name": "Mul", "Type": "Mul", "Accelerator Core": "AI_VECTOR_CORE",
         "Start Time(us)": at(start) + "\t", "Duration(us)": "10"}
        for step, start in (("7", 0), ("7", 50), ("8", 100), ("8", 160), ("", 300), ("9", 400))
    ]  # fmt: skip
    write_csv(tmp_path / "kernel_details.csv", rows)
    with open_fresh(tmp_path) as trace:
        assert trace.sql("SELECT number, ts, dur FROM steps ORDER BY ts").to_pylist() == [
            {"number": 7, "ts": 0, "dur": 100_000},
            {"number": 8, "ts": 100_000, "dur": 70_000},
            {"number": 9, "ts": 400_000, "dur": 10_000},
        ]
        found = {row["detail"] for row in analyses()["idle_causes"].run(trace).records()}
        assert found == {"host not recorded"}


def _health(path: Path) -> dict[str, int]:
    with open_fresh(path) as trace:
        return {row["code"]: row["count"] for row in trace.sql("SELECT code, count FROM health").to_pylist()}


def test_sums_of_more_than_the_events_are_told(tmp_path: Path) -> None:
    """Tables that were cut after some rows look whole; what the profiler counted tells that they are not."""
    output = write_sums(tmp_path)
    kernel = {"Name": "Mul", "Type": "Mul", "Accelerator Core": "AI_VECTOR_CORE", "Duration(us)": "10"}
    rows = [{**kernel, "Start Time(us)": at(start) + "\t"} for start in (0, 50)]
    reduce = {**kernel, "Name": "hcom_allReduce__097_5_1", "Accelerator Core": "HCCL", "Start Time(us)": at(90) + "\t"}
    write_csv(output / "kernel_details.csv", [*rows, reduce])
    counts = [{"OP Type": "Mul", "Core Type": "AI_VECTOR_CORE", "Count": "5"},
              {"OP Type": "MatMul", "Core Type": "AI_CORE", "Count": "2"}]  # fmt: skip
    write_csv(output / "op_statistic.csv", counts)
    found = _health(tmp_path)
    assert found["kernels-missing"] == 5
    assert found["collectives-missing"] == 1
    write_csv(output / "op_statistic.csv", [{**counts[0], "Count": "2"}])
    assert "kernels-missing" not in _health(tmp_path)


def test_a_table_of_another_week_is_told(tmp_path: Path) -> None:
    from bench.damage.small_ascend import write_text

    output = write_text(tmp_path)
    record = {"Component": "APP", "Timestamp(us)": f"{START - 14 * 86_400_000_000}.000\t", "Total Reserved(MB)": "1"}
    write_csv(output / "memory_record.csv", [record])
    assert _health(tmp_path)["samples-misplaced"] == 1


def test_memory_of_components_and_of_blocks_from_before(tmp_path: Path) -> None:
    from bench.damage.small_ascend import write_text

    output = write_text(tmp_path)
    columns = ("Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)")
    totals = [("PTA", 10, "100", "200"), ("GE", 20, "30", "40"), ("PTA", 30, "150", "200"), ("PTA", 40, "90", "200")]
    rows = [dict(zip(columns, (name, at(ts) + "\t", a, r), strict=True)) for name, ts, a, r in totals]
    write_csv(output / "memory_record.csv", rows)
    columns = ("Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Allocation Total Allocated(MB)",
               "Release Total Allocated(MB)", "Device Type")  # fmt: skip
    blocks = [
        ("aten::mm", "1024", at(30), "", "150", "", "NPU:0"),
        ("aten::add", "-2048", "", at(40), "", "90", "NPU:0"),  # taken before the recording
        ("cann::Mul", "512", at(20), "", "30", "", "NPU:0"),  # of another allocator
    ]
    write_csv(output / "operator_memory.csv", [dict(zip(columns, row, strict=True)) for row in blocks])
    with open_fresh(tmp_path) as trace:
        found = trace.sql("SELECT ts, bytes, allocated FROM memory WHERE bytes IS NOT NULL ORDER BY ts").to_pylist()
        assert found == [
            {"ts": 20_000, "bytes": 512 << 10, "allocated": None},
            {"ts": 30_000, "bytes": 1 << 20, "allocated": 150 << 20},
            {"ts": 40_000, "bytes": -2 << 20, "allocated": 90 << 20},
        ]
        [peak] = analyses()["memory_peaks"].run(trace).records()
        assert (peak["device"], peak["peak_bytes"], peak["peak_reserved_bytes"]) == (0, 150 << 20, 200 << 20)
        components = analyses()["memory_components"].run(trace).records()
        assert [(c["name"], c["total"], c["peak_bytes"] >> 20, c["peak_ts"]) for c in components] == [
            ("PTA", "reserved", 200, 10_000), ("PTA", "allocated", 150, 30_000), ("GE", "reserved", 40, 20_000),
            ("GE", "allocated", 30, 20_000),
        ]  # fmt: skip


def test_totals_of_another_allocator_are_none_of_the_frameworks_in_a_database_either(tmp_path: Path) -> None:
    from bench.damage.small_ascend import write_database

    path = write_database(tmp_path / "ascend_pytorch_profiler_3.db")
    columns = ("name", "size", "allocationTime", "releaseTime", "allocationTotalAllocated", "allocationTotalReserved",
               "releaseTotalAllocated", "releaseTotalReserved", "deviceId")  # fmt: skip
    start = round(START * 1000)
    with closing(sqlite3.connect(path)) as connection, connection:
        names = [(90_001, "aten::mm"), (90_002, "cann::Mul")]
        connection.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", names)
        connection.execute(f"CREATE TABLE OP_MEMORY ({', '.join(columns)})")
        rows = [
            (90_001, 1 << 20, start + 30_000, None, 150 << 20, 200 << 20, None, None, 3),
            (90_002, 1 << 19, start + 40_000, start + 50_000, 30 << 20, 75 << 20, 29 << 20, 75 << 20, 3),
        ]
        connection.executemany(f"INSERT INTO OP_MEMORY VALUES ({', '.join('?' * len(columns))})", rows)
    with open_fresh(path) as trace:
        found = trace.sql("SELECT bytes, allocated, reserved FROM memory WHERE bytes <> 0 ORDER BY ts").to_pylist()
        assert [tuple(row.values()) for row in found] == [
            (1 << 20, 150 << 20, 200 << 20), (1 << 19, None, None), (-(1 << 19), None, None),
        ]  # fmt: skip
