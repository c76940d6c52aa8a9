"""What `msprof` and newer versions of CANN write otherwise: slices, units, marks, and kernels of collectives."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import (
    HARDWARE,
    PROCESS,
    at,
    flow,
    kernel_rows,
    named,
    span,
    trace_events,
    write_csv,
    write_database,
    write_text,
)

from readers.conformance import check_invariants, check_splits, open_fresh
from stepscope.analyses.registry import analyses
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.readers.ascend.kinds import named as told
from stepscope.readers.ascend.kinds import newest
from stepscope.readers.content import HEAD_BYTES

KERNELS = "SELECT name, kind, ts, dur, device, stream, core, op_type FROM kernels ORDER BY ts, name"
EXPORTED = "20240101120000"


def _codes(trace: Trace) -> set[str]:
    return set(trace.sql("SELECT code FROM health")["code"].to_pylist())


def _output(folder: Path) -> Path:
    output = folder / "PROF_000001_2024_ABC" / "mindstudio_profiler_output"
    output.mkdir(parents=True)
    return output


def _write_events(output: Path, events: list[dict[str, Any]], slices: int, exported: str = EXPORTED) -> None:
    """The trace in so many slices, each with the names of all processes."""
    names = [event for event in events if event["ph"] == "M"]
    others = [event for event in events if event["ph"] != "M"]
    for number in range(slices):
        part = json.dumps([*names, *others[number::slices]])
        (output / f"msprof_slice_{number}_{exported}.json").write_text(part)


@pytest.mark.parametrize("slices", [1, 2, 12])
def test_slices_of_a_trace_are_one_trace(tmp_path: Path, slices: int) -> None:
    _write_events(_output(tmp_path), trace_events(), slices)
    (tmp_path / "whole.json").write_text(json.dumps(trace_events()))
    with open_fresh(tmp_path / "PROF_000001_2024_ABC") as trace, open_fresh(tmp_path / "whole.json") as whole:
        assert trace.sql(KERNELS).to_pylist() == whole.sql(KERNELS).to_pylist()
        calls = (
            "SELECT name, category, ts, dur, process, thread FROM events JOIN tracks USING (track) ORDER BY ts, name"
        )
        assert trace.sql(calls).to_pylist() == whole.sql(calls).to_pylist()
        assert trace.scalar("SELECT count(*) FROM comm_tasks") == whole.scalar("SELECT count(*) FROM comm_tasks")
        check_invariants(trace)
        check_splits(trace)


def test_slices_of_tables_are_one_table(tmp_path: Path) -> None:
    rows = [
        {"Op Name": f"op{n}", "OP Type": "Add", "Task Type": "AI_VECTOR_CORE", "Task Start Time(us)": at(10 * n),
         "Task Duration(us)": "5.0", "Stream ID": "2", "Step Id": f"{n // 4}"}
        for n in range(12)
    ]  # fmt: skip
    blocks = [
        {"Name": f"op{n}", "Size(KB)": f"{n + 1}", "Allocation Time(us)": at(10 * n), "Duration(us)": "5.0"}
        for n in range(12)
    ]
    output = _output(tmp_path)
    for number in range(12):
        write_csv(output / f"op_summary_slice_{number}_{EXPORTED}.csv", [rows[number]])
        write_csv(output / f"operator_memory_slice_{number}_{EXPORTED}.csv", [blocks[number]])
    with open_fresh(tmp_path) as trace:
        assert trace.scalar("SELECT count(*) FROM kernels") == 12
        assert [step["number"] for step in trace.sql("SELECT number FROM steps ORDER BY ts").to_pylist()] == [0, 1, 2]
        found = trace.sql("SELECT address, sum(bytes) AS left, count(*) AS n FROM memory GROUP BY 1").to_pylist()
        assert sorted(tuple(row.values()) for row in found) == [(n, 0, 2) for n in range(1, 13)]
        assert "kernels-unmatched" not in _codes(trace)


def test_of_several_exports_the_last_is_read(tmp_path: Path) -> None:
    output = _output(tmp_path)
    _write_events(output, trace_events(), 2, "20240101110000")
    _write_events(output, trace_events(), 3)
    for exported in ("20240101110000", EXPORTED):
        write_csv(output / f"op_summary_{exported}.csv", kernel_rows())
        write_csv(output / f"op_statistic_{exported}.csv", [
            {"OP Type": "MatMulV2", "Core Type": "AI_CORE", "Count": "1", "Total Time(us)": "100.5"}])  # fmt: skip
    with open_fresh(tmp_path) as trace:
        assert trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute'") == 1
        assert trace.scalar("SELECT sum(value) FROM recorded WHERE metric = 'Count' AND source = 'operators'") == 1
        [health] = trace.sql("SELECT count FROM health WHERE code = 'exports-older'").to_pylist()
        assert health == {"count": 4}


def test_what_names_of_files_tell() -> None:
    def chosen(*names: str) -> list[str]:
        files = [(one, Path(name)) for name in names if (one := told(name))]
        return [path.name for path in newest(files)]

    assert told("op_summary_0_1_2_20230905213000.csv") == ("kernel_details", (0, 1, 2), 0, "20230905213000")
    assert told("msprof_0_1_slice_3.json") == ("trace_view", (0, 1), 3, "")
    assert told("msprof_tx_20240101120000.json") is None
    # The first slice may lack its number, slices may be written a second apart, and tenth comes after second.
    parts = [f"op_summary_slice_{n}_2024010112000{min(n, 9)}.csv" for n in range(1, 11)]
    assert chosen(*reversed(parts), "op_summary_20240101120000.csv") == ["op_summary_20240101120000.csv", *parts]
    # The framework's own file goes before one of `msprof`, those of two devices do not exclude each other.
    assert chosen("op_summary_20240101120000.csv", "kernel_details.csv") == ["kernel_details.csv"]
    assert chosen("op_summary_1_1.csv", "op_summary_0_1.csv") == ["op_summary_0_1.csv", "op_summary_1_1.csv"]


def test_memory_in_kilobytes(tmp_path: Path) -> None:
    output = _output(tmp_path)
    columns = ("Device_id", "Component", "Timestamp(us)", "Total Allocated(KB)", "Total Reserved(KB)", "Device")
    write_csv(output / f"memory_record_{EXPORTED}.csv", [
        dict(zip(columns, ("0", "GE", at(20) + "\t", "30", "40", "NPU:0"), strict=True))])  # fmt: skip
    modules = ("Device_id", "Component", "Timestamp(us)", "Total Reserved(KB)", "Device")
    write_csv(output / f"npu_module_mem_{EXPORTED}.csv", [
        dict(zip(modules, ("0", name, at(20) + "\t", kib, "NPU:0"), strict=True))
        for name, kib in (("HCCL", "2048"), ("SLOG", "-1"))])  # fmt: skip
    columns = ("Device_id", "Name", "Size(KB)", "Allocation Time(us)", "Duration(us)",
               "Allocation Total Allocated(KB)", "Allocation Total Reserved(KB)", "Device")  # fmt: skip
    write_csv(output / f"operator_memory_{EXPORTED}.csv", [
        dict(zip(columns, row, strict=True)) for row in (
            ("0", "MatMul", "512", at(20), "30.5", "512", "1024", "NPU:0"),
            ("0", "Add", "64", at(25), "", "576", "1024", "NPU:0"))])  # fmt: skip
    write_csv(output / f"op_summary_{EXPORTED}.csv", kernel_rows())
    with open_fresh(tmp_path) as trace:
        assert trace.sql("SELECT name, value FROM counters ORDER BY name").to_pylist() == [
            {"name": "GE allocated", "value": 30 << 10},
            {"name": "GE reserved", "value": 40 << 10},
            # What a module gave back alone says nothing of what it holds.
            {"name": "module HCCL reserved", "value": 2 << 20},
        ]
        first = "SELECT min(ts) FROM memory"
        memory = trace.sql(f"SELECT ts - ({first}), bytes, allocated, reserved FROM memory ORDER BY ts").to_pylist()
        assert [tuple(row.values()) for row in memory] == [
            (0, 512 << 10, 512 << 10, 1 << 20), (5_000, 64 << 10, 576 << 10, 1 << 20),
            (30_500, -512 << 10, None, None),
        ]  # fmt: skip
        assert not {"rows-skipped", "cells-unreadable"} & _codes(trace)


def test_the_framework_of_memory_may_be_mindspore(tmp_path: Path) -> None:
    output = write_text(tmp_path / "host_1_2024_ascend_ms")
    columns = ("Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)")
    totals = [("MindSpore", 10, "100", "200", "90"), ("MindSpore+GE", 10, "130", "240", "90")]
    write_csv(output / "memory_record.csv", [dict(zip(columns, (name, at(ts), *more), strict=True))
                                             for name, ts, *more in totals])  # fmt: skip
    with open_fresh(tmp_path) as trace:
        [peak] = analyses()["memory_peaks"].run(trace).records()
        assert (peak["peak_bytes"], peak["peak_reserved_bytes"]) == (100 << 20, 200 << 20)


def test_a_database_of_msprof_lies_beside_its_output(tmp_path: Path) -> None:
    folder = tmp_path / "PROF_000001_2024_ABC"
    (folder / "device_3").mkdir(parents=True)
    for exported in ("20240101110000", EXPORTED):
        write_database(folder / f"msprof_{exported}.db")
    with open_fresh(tmp_path) as trace:
        assert (len(trace.ranks), trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute'")) == (1, 1)
    # Of two exports of the same data the text one is read.
    _write_events(_output(tmp_path / "both"), trace_events(), 1)
    write_database(tmp_path / "both" / "PROF_000001_2024_ABC" / f"msprof_{EXPORTED}.db")
    with open_fresh(tmp_path / "both") as trace:
        assert (len(trace.ranks), trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute'")) == (1, 1)


def test_a_database_is_known_wherever_the_list_of_its_tables_lies(tmp_path: Path) -> None:
    path = write_database(tmp_path / "ascend_pytorch_profiler_3.db")
    with closing(sqlite3.connect(path)) as connection:
        for number in range(300):
            columns = ", ".join(f"a_column_with_a_long_name_{number}_{column}" for column in range(20))
            connection.execute(f"CREATE TABLE other_{number} ({columns})")
        tables = ("STRING_IDS", "NPU_INFO", "CANN_API", "PYTORCH_API", "RANK_DEVICE_MAP")
        for table in tables:
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone():
                connection.execute(f"CREATE TABLE moved AS SELECT * FROM {table}")
                connection.execute(f"DROP TABLE {table}")
                connection.execute(f"ALTER TABLE moved RENAME TO {table}")
        connection.commit()
        connection.execute("VACUUM")
    renamed = path.rename(tmp_path / "sent.db")
    head = renamed.read_bytes()[:HEAD_BYTES]
    assert not any(table.encode() in head for table in tables)
    with open_fresh(renamed) as trace:
        assert trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute'") == 1


def test_older_versions_write_into_two_folders_of_a_device(tmp_path: Path) -> None:
    """Apart they were two ranks, one of which waited for the other."""
    device = tmp_path / "PROF_000001_2022_ABC" / "device_0"
    for name in ("summary", "timeline"):
        (device / name).mkdir(parents=True)
    (device / "timeline" / "msprof_0_1.json").write_text(json.dumps(trace_events()))
    write_csv(device / "summary" / "op_summary_0_1.csv", kernel_rows())
    write_csv(device / "summary" / "task_time_0_1.csv", [{"Task ID": "1"}])
    with open_fresh(tmp_path) as trace:
        assert len(trace.ranks) == 1
        cores = trace.sql("SELECT name, core FROM kernels WHERE core IS NOT NULL").to_pylist()
        assert cores == [{"name": "aclnnMm_MatMulV2", "core": "AI_CORE"}]
        assert not {"no-kernel-details", "files-unknown"} & _codes(trace)


@pytest.mark.parametrize(
    ("folder", "program"),
    [
        ("x_ascend_pt/FRAMEWORK", "torch_npu.profiler.profiler.analyse("),
        ("x_ascend_pt/PROF_1_2024_A/host", "torch_npu.profiler.profiler.analyse("),
        ("x_ascend_ms/FRAMEWORK", "mindspore.profiler.profiler.analyse("),
        ("x_ascend_ms/PROF_1_2024_A/host", "mindspore.profiler.profiler.analyse("),
        ("results/PROF_1_2024_A/device_0", "msprof --export=on --output="),
    ],
)
def test_raw_data_say_which_program_analyses_them(tmp_path: Path, folder: str, program: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    with pytest.raises(UserError) as refused:
        open_fresh(tmp_path)
    assert program in str(refused.value.hint)


HOST_MARKS = (PROCESS << 10) | (6 << 5) | 31


def test_marks_of_mstx_are_annotations_and_no_kernels(tmp_path: Path) -> None:
    """The marks lie in a process that is called as the program, on streams they have its streams and no type."""
    marks = [
        *named(HOST_MARKS, "python3.11", **{f"t{PROCESS}": f"Thread {PROCESS}"}),
        span(HOST_MARKS, PROCESS, "forward", 90, 200, args={"event_type": "start/end", "domain": "default"}),
        flow("s", "MsTx", "4000000001", HOST_MARKS, PROCESS, 90),
        span(HARDWARE, 2, "forward", 195, 130, args={"Physic Stream Id": 2, "Task Id": 13}),
        flow("f", "MsTx", "4000000001", HARDWARE, 2, 195),
    ]
    output = write_text(tmp_path / "x_ascend_pt")
    (output / "trace_view.json").write_text(json.dumps([*trace_events(), *marks]))
    with open_fresh(tmp_path) as trace:
        assert trace.scalar("SELECT count(*) FROM kernels WHERE name = 'forward'") == 0
        found = trace.sql(
            "SELECT category, kind, ts, dur FROM events JOIN tracks USING (track) WHERE name = 'forward' ORDER BY ts"
        ).to_pylist()
        assert [tuple(row.values()) for row in found] == [
            ("annotation", "host", 90_000, 200_000), ("other", "device", 195_000, 130_000)
        ]  # fmt: skip
        # They are on the program's own thread, around the operator.
        assert trace.scalar("SELECT count(*) FROM tracks WHERE kind = 'host'") == 2
        check_invariants(trace)


def _collective_on_vector_cores(kind: str, folder: Path) -> None:
    name = "hcom_allReduce__532_5_1_AivKernel"
    if kind == "trace":
        output = write_text(folder / "x_ascend_pt")
        kernel = span(HARDWARE, 2, name, 251, 148, args={"Task Type": "AI_VECTOR_CORE", "Physic Stream Id": 2})
        (output / "trace_view.json").write_text(json.dumps([*trace_events(), kernel]))
    else:
        output = folder / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        first, last = kernel_rows()
        own = {**first, "Name": name, "Accelerator Core": "AI_VECTOR_CORE", "Start Time(us)": at(251),
               "Duration(us)": "148"}  # fmt: skip
        write_csv(output / "kernel_details.csv", [first, last, own])


@pytest.mark.parametrize("kind", ["trace", "table"])
def test_kernels_of_a_collective_are_no_computing(tmp_path: Path, kind: str) -> None:
    _collective_on_vector_cores(kind, tmp_path)
    with open_fresh(tmp_path) as trace:
        names = trace.sql("SELECT name FROM kernels WHERE kind = 'compute'")["name"].to_pylist()
        assert names == ["aclnnMm_MatMulV2"]
        [collective] = analyses()["collectives"].run(trace).records()
        # From 300.625, where the kernel beside it ends, to 400.
        assert collective["exposed_ns"] == 99_375


def test_rows_of_cores_are_no_threads(tmp_path: Path) -> None:
    cores = (PROCESS << 10) | (26 << 5) | 3
    rows = [
        *named(cores, "Block Detail", t1="AIC Earliest"),
        span(cores, 1, "Stream 2 aclnnMm_MatMulV2", 201, 90, args={"Core Id": 4}),
    ]
    output = write_text(tmp_path / "x_ascend_pt")
    (output / "trace_view.json").write_text(json.dumps([*trace_events(), *rows]))
    with open_fresh(tmp_path) as trace:
        assert trace.scalar("SELECT count(*) FROM tracks WHERE kind = 'host'") == 2
