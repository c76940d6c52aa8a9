"""Files of a result that were sent by themselves, and results of `msprof`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import at, kernel_rows, write_csv

from readers.conformance import open_fresh
from stepscope.analyses.program import program_of
from stepscope.analyses.registry import analyses
from stepscope.model.errors import UnusableInputError, UserError
from stepscope.model.trace import Trace
from stepscope.readers.ascend.kinds import kind_of_name, summary_kind, table_kind
from stepscope.rules.engine import diagnose
from stepscope.rules.settings import Settings


def found(trace: Trace) -> list[tuple[str, str]]:
    return [(one.code, one.summary) for one in diagnose(trace, Settings(), strict=True).findings]


def rows(trace: Trace, name: str) -> list[dict[str, Any]]:
    return analyses()[name].run(trace).records()


def codes(trace: Trace) -> set[str]:
    return set(trace.sql("SELECT code FROM health")["code"].to_pylist())


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Step Id,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)", "kernel_details"),
        ("Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)", "kernel_details"),
        ("Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free", "step_trace_time"),
        ("Name,Size(KB),Allocation Time(us),Release Time(us)", "operator_memory"),
        ("Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)", "memory_record"),
        ("Device_id,Component,Timestamp(us),Total Reserved(MB),Device", "npu_module_mem"),
        ("Device_id,OP Type,Core Type,Count,Total Time(us)", "op_statistic"),
        ("Level,API Name,Time(us),Count,Avg(us)", "api_statistic"),
        ("Stream Id,Task Id,Hit Rate,Victim Rate,Op Name", "l2_cache"),
        ("date,open,high,low,close", None),
        ("Name,Duration(us)", None),
    ],
)
def test_tables_are_known_by_their_first_line(line: str, kind: str | None) -> None:
    assert table_kind(f"\ufeff{line}\r\n1,2,3".encode()) == kind


def test_names_of_files() -> None:
    assert kind_of_name("op_summary_20240101120000.csv") == "kernel_details"
    assert kind_of_name("op_summary_slice_1_20240101120000.csv") == "kernel_details"
    assert kind_of_name("msprof_20240101120000.json") == "trace_view"
    assert kind_of_name("l2_cache.csv") == "l2_cache"
    assert kind_of_name("requirements.csv") is None


def test_totals_of_calls_alone(tmp_path: Path) -> None:
    path = tmp_path / "sent.csv"
    calls = [("acl", "aclopCompileAndExecute", 20_000, 30, 900), ("node", "launch", 4_000, 200, 50),
             ("acl", "aclrtSynchronizeStream", 9_000, 150, 300), ("runtime", "StreamSynchronize", 8_900, 150, 290),
             ("acl", "aclrtMalloc", 12_000, 4, 6_000)]  # fmt: skip
    write_csv(
        path,
        [
            {"Level": level, "API Name": name, "Time(us)": f"{us}.0", "Count": f"{count}", "Max(us)": f"{most}.0"}
            for level, name, us, count, most in calls
        ],
    )
    with open_fresh(path) as trace:
        assert "totals-only" in codes(trace)
        said = dict(found(trace))
        assert said["ASC003"].startswith("30 calls of `aclopCompileAndExecute` in the recording take 20.0 ms")
        assert said["ASC014"] == (
            "150 waits of the host come with 200 launches, and take 9.00 ms of the recording, the longest 300 µs."
        )
        assert said["ASC015"] == (
            "4 calls that take device memory from the driver or give it back take 12.0 ms of the recording, the "
            "longest 6.00 ms."
        )
        assert [(row["name"], row["of"], row["total_ns"]) for row in rows(trace, "recorded_totals")][:1] == [
            ("acl aclopCompileAndExecute", "calls", 20_000_000)
        ]


def test_few_calls_are_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "api_statistic.csv"
    write_csv(
        path,
        [
            {"Level": level, "API Name": name, "Time(us)": us, "Count": count, "Max(us)": "9.0"}
            for level, name, us, count in (
                ("acl", "aclopCompileAndExecute", "500.0", "2"), ("node", "launch", "4000.0", "200"),
                ("acl", "aclrtSynchronizeStream", "900.0", "99"), ("acl", "aclrtMalloc", "9999.0", "4"),
            )
        ],
    )  # fmt: skip
    with open_fresh(path) as trace:
        assert not {code for code, _ in found(trace) if code.startswith("ASC")}


def test_totals_of_operators_alone(tmp_path: Path) -> None:
    path = tmp_path / "op_statistic.csv"
    kinds = (
        ("MatMulV2", "AI_CORE", 800, 8, 200),
        ("TransData", "AI_VECTOR_CORE", 150, 30, 9),
        ("Cast", "AI_CPU", 50, 2, 40),
    )
    write_csv(
        path,
        [
            {
                "OP Type": kind,
                "Core Type": core,
                "Count": f"{count}",
                "Total Time(us)": f"{us}.0",
                "Max Time(us)": f"{most}.0",
            }
            for kind, core, us, count, most in kinds
        ],
    )
    with open_fresh(path) as trace:
        said = dict(found(trace))
        assert said["ASC001"] == (
            "2 kernels (Cast) run on the AI CPU and take 50.0 µs (5.0 % of the time of all compute kernels), the "
            "longest 40.0 µs."
        )
        assert said["ASC012"].startswith("30 conversions of formats take 150 µs (15.0 %")


def test_links_alone_are_between_ranks_of_a_group(tmp_path: Path) -> None:
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 20.0, "Transit Time(ms)": 1.0, "Bandwidth(GB/s)": 20.0}
    path = tmp_path / "communication_matrix.json"
    path.write_text(json.dumps({"step3": {"collective": {"allreduce-total@123456": {"0-0": link, "0-1": link}}}}))
    with open_fresh(path) as trace:
        (row,) = rows(trace, "recorded_totals")
        assert (row["name"], row["bytes"], row["bandwidth"]) == ("0-1 HCCS of group 456", 20_000_000, 20e9)


def test_memory_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory_record.csv"
    write_csv(
        path,
        [
            {"Component": "PTA", "Timestamp(us)": at(us), "Total Allocated(MB)": mb, "Total Reserved(MB)": "64.0"}
            for us, mb in ((0, "16.0"), (100, "48.0"), (200, "32.0"))
        ],
    )
    with open_fresh(path) as trace:
        assert "memory-only" in codes(trace)
        (row,) = rows(trace, "memory_peaks")
        assert (row["peak_bytes"], row["peak_reserved_bytes"]) == (48 << 20, 64 << 20)


def test_sums_of_steps_alone(tmp_path: Path) -> None:
    path = tmp_path / "step_trace_time.csv"
    row = {"Step": "7", "Computing": "50.0", "Communication(Not Overlapped)": "20.0", "Overlapped": "5.0",
           "Communication": "25.0", "Free": "30.0"}  # fmt: skip
    write_csv(path, [row])
    with open_fresh(path) as trace:
        (step,) = [row for row in rows(trace, "step_budget") if row["step"] is not None]
        assert (step["number"], step["compute_ns"], step["exposed_comm_ns"], step["idle_ns"]) == (
            7, 50_000, 20_000, 30_000
        )  # fmt: skip


def test_what_tells_nothing_by_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "operator_details.csv"
    write_csv(path, [{"Name": "aten::mm", "Host Self Duration(us)": "1.0", "Host Total Duration(us)": "2.0"}])
    with pytest.raises(UnusableInputError, match="has no times"), open_fresh(path):
        pass


def test_foreign_tables_are_no_recordings(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("date,open,close\n1,2,3\n")
    with pytest.raises(UserError, match="no recording"), open_fresh(path):
        pass
    assert summary_kind(b'{"Communication": 1}') is None


def test_a_folder_of_msprof(tmp_path: Path) -> None:
    output = tmp_path / "PROF_000001_2024_ABC" / "mindstudio_profiler_output"
    output.mkdir(parents=True)
    (tmp_path / "PROF_000001_2024_ABC" / "device_0").mkdir()
    renamed = {"Name": "Op Name", "Type": "OP Type", "Accelerator Core": "Task Type",
               "Start Time(us)": "Task Start Time(us)", "Duration(us)": "Task Duration(us)"}  # fmt: skip
    kernels = [{renamed.get(k, k): v for k, v in row.items() if k != "Step Id"} for row in kernel_rows()]
    for number, row in enumerate(kernels):
        write_csv(output / f"op_summary_slice_{number}_20240101120000.csv", [row])
    write_csv(output / "op_statistic_20240101120000.csv", [{"OP Type": "MatMulV2", "Core Type": "AI_CORE", "Count": "1",
              "Total Time(us)": "100.5"}])  # fmt: skip
    with open_fresh(tmp_path) as trace:
        assert len(trace.ranks) == 1
        assert [(row["name"], row["total_ns"]) for row in rows(trace, "kernels")] == [
            ("hcom_allReduce__532_5_1", 150_000), ("aclnnMm_MatMulV2", 100_500)
        ]  # fmt: skip
        assert rows(trace, "recorded_totals") == []
        assert program_of(trace).framework == "unknown"


@pytest.mark.parametrize(
    ("name", "info", "framework"),
    [
        ("host_1_2024_ascend_ms", {}, "mindspore"),
        ("host_1_2024_ascend_pt", {}, "pytorch"),
        ("results", {"ms_version": "2.4.0"}, "mindspore"),
        ("results", {"torch_npu_version": "2.1.0"}, "pytorch"),
    ],
)
def test_whose_profiler_wrote_a_folder(tmp_path: Path, name: str, info: dict[str, str], framework: str) -> None:
    output = tmp_path / name / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    write_csv(output / "kernel_details.csv", kernel_rows())
    (tmp_path / name / "profiler_info_0.json").write_text(json.dumps(info), encoding="utf-8")
    with open_fresh(tmp_path / name) as trace:
        assert program_of(trace).framework == framework


@pytest.mark.parametrize(
    ("name", "framework"), [("op_statistic.csv", "pytorch"), ("op_statistic_20240101120000.csv", "unknown")]
)
def test_tables_with_the_time_of_an_export_are_of_any_program(tmp_path: Path, name: str, framework: str) -> None:
    row = {"OP Type": "MatMulV2", "Core Type": "AI_CORE", "Count": "1", "Total Time(us)": "100.5"}
    write_csv(tmp_path / name, [row])
    with open_fresh(tmp_path) as trace:
        assert program_of(trace).framework == framework
