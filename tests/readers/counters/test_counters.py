"""Results of kernel profilers: by themselves, and beside the recording whose kernels they are of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.analyses.registry import analyses
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import UnusableInputError
from stepscope.model.trace import Trace
from stepscope.readers.counters.launch import number, sizes

NAME = "void at::native::vectorized_elementwise_kernel<4, add>(int, T2, T3)"
PLACE = '"{id}","12","python3","127.0.0.1","{name}","1","7","(128, 1, 1)","(1024, 1, 1)","0","8.0"'
HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC"'
)

RAW = "\n".join(
    [
        "==PROF== Connected to process 12 (/usr/bin/python3)",
        "loss 0.25, step 3",
        f'{HEAD},"gpu__time_duration.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",'
        '"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","lts__t_sector_hit_rate.pct","launch__registers_per_thread",'
        '"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",'
        '"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"',
        '"","","","","","","","","","","","us","sector","request","%","register/thread","inst","inst"',
        PLACE.format(id=0, name=NAME) + ',"12.384","1,048,576","65,536","45.3","24","12.5","0.5"',
        PLACE.format(id=1, name=NAME) + ',"13.000","1,048,576","n/a","","24","12.5","0.5"',
        "==PROF== Disconnected from process 12",
    ]
)
DETAILS = "\n".join(
    [
        "==PROF== Connected to process 12",
        f'{HEAD},"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"',
        *(
            PLACE.format(id=0, name=NAME) + f',"{section}","{metric}","{unit}","{value}"'
            for section, metric, unit, value in (
                ("GPU Speed Of Light Throughput", "Duration", "us", "12.38"),
                ("GPU Speed Of Light Throughput", "DRAM Throughput", "%", "91.20"),
                ("Memory Workload Analysis", "L2 Hit Rate", "%", "45.31"),
                ("Scheduler Statistics", "Eligible Warps Per Scheduler", "warp", "0.35"),
                ("Launch Statistics", "Registers Per Thread", "register/thread", "128"),
                ("Launch Statistics", "Dynamic Shared Memory Per Block", "Kbyte/block", "32.77"),
                ("Launch Statistics", "Static Shared Memory Per Block", "byte/block", "0"),
                ("Occupancy", "Block Limit Registers", "block", "2"),
                ("Occupancy", "Block Limit Shared Mem", "block", "5"),
                ("Occupancy", "Achieved Occupancy", "%", "24.10"),
            )
        ),
        PLACE.format(id=0, name=NAME)
        + ',"Occupancy","","","","Occupancy","WRN","This kernel is limited by registers."',
    ]
)
DISPATCHES = "\n".join(
    [
        "Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Arch_VGPR,Kernel_Name,Start_Timestamp,"
        "End_Timestamp,TCC_HIT_sum,TCC_MISS_sum,SQ_LDS_BANK_CONFLICT,SQ_LDS_IDX_ACTIVE",
        '0,2,131072,128,4096,24,"vecCopy(double*, double*) [clone .kd]",1000,13384,300,100,50,200',
    ]
)


def values(trace: Trace) -> dict[str, float]:
    return {
        row["metric"]: row["value"] for row in trace.rows("SELECT metric, value FROM kernel_counters WHERE launch = 0")
    }


def written(folder: Path, text: str, name: str = "kernel.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def opened(*paths: Path) -> Trace:
    return open_trace([*paths], Options(cache=False))


def test_the_raw_page_of_nsight_compute(tmp_path: Path) -> None:
    with opened(written(tmp_path, RAW)) as trace:
        found = values(trace)
        [first, second] = trace.rows(
            "SELECT DISTINCT launch, base, nth, dur, grid, block FROM kernel_counters ORDER BY 1"
        )
    assert first == {"launch": 0, "base": "vectorized_elementwise_kernel", "nth": 0, "dur": 12_384,
                     "grid": [1024, 1, 1], "block": [128, 1, 1]}  # fmt: skip
    assert (second["nth"], second["dur"]) == (1, 13_000)
    assert found["sectors_per_load"] == 16
    assert found["l2_hit_rate"] == pytest.approx(0.453)
    assert (found["registers"], found["stall_long_scoreboard"]) == (24, 12.5)


def test_the_details_page_of_nsight_compute(tmp_path: Path) -> None:
    with opened(written(tmp_path, DETAILS)) as trace:
        found = values(trace)
        [row] = analyses()["inspected_kernels"].run(trace).records()
    assert found["shared_bytes"] == pytest.approx(32_770)
    assert (found["eligible_warps"], found["memory_busy"]) == (0.35, pytest.approx(0.912))
    assert (row["limited_by"], row["registers"], row["occupancy"]) == ("registers", 128, pytest.approx(0.241))
    assert row["profiled_ns"] == 12_380


def test_dispatches_of_rocprof_compute(tmp_path: Path) -> None:
    with opened(written(tmp_path, DISPATCHES, "pmc_perf.csv")) as trace:
        found = values(trace)
        [row] = trace.rows("SELECT DISTINCT base, dur, grid, block FROM kernel_counters")
    assert row == {"base": "vecCopy", "dur": 12_384, "grid": [1024, 1, 1], "block": [128, 1, 1]}
    assert (found["l2_hit_rate"], found["bank_conflicts"], found["registers"]) == (0.75, 0.25, 24)


def msprof(folder: Path) -> Path:
    folder.mkdir()
    written(folder, "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq\n"
            "add_custom,vector,12.384,8,,0,77,1800,1800\n", "OpBasicInfo.csv")  # fmt: skip
    written(folder, "block_id,sub_block_id,aiv_time(us),aiv_total_cycles,aiv_vec_ratio,aiv_mte2_ratio,aic_cube_ratio\n"
            "0,vector0,10.0,18000,0.2,0.6,NA\n1,vector0,12.0,21600,0.4,0.8,NA\n", "PipeUtilization.csv")  # fmt: skip
    written(folder, "block_id,sub_block_id,aiv_vec_bankgroup_cflt_ratio,aiv_vec_bank_cflt_ratio\n"
            "0,vector0,0.1,0.2\n1,vector0,0.1,0.0\n", "ResourceConflictRatio.csv")  # fmt: skip
    written(folder, "block_id,sub_block_id,aiv_total_hit_rate(%)\n0,vector0,80.0\n1,vector0,90.0\n", "L2Cache.csv")
    return folder


def test_a_folder_of_msprof_op(tmp_path: Path) -> None:
    folder = msprof(tmp_path / "OPPROF_20260101_AAAA")
    for path in (tmp_path, folder, folder / "PipeUtilization.csv"):
        with opened(path) as trace:
            found = values(trace)
            assert trace.scalar("SELECT dur FROM kernel_counters LIMIT 1") == 12_384
        assert (found["aiv_time"], found["aiv_vec_ratio"]) == (11_000, pytest.approx(0.3))
        assert (found["l2_hit_rate"], found["bank_conflicts"]) == (pytest.approx(0.85), pytest.approx(0.2))
        assert "aic_cube_ratio" not in found


def recording(folder: Path) -> Path:
    launches = enumerate(((NAME, 10), (NAME, 30), ("gemm", 60)))
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1e9 + 100 * n, "dur": dur,
         "args": {"device": 0, "stream": 7, "correlation": n + 1, "grid": [1024, 1, 1], "block": [128, 1, 1]}}
        for n, (name, dur) in launches
    ]  # fmt: skip
    return written(folder, json.dumps({"schemaVersion": 1, "traceEvents": events}), "trace.json")


def test_counters_join_the_kernels_of_a_recording_by_name(tmp_path: Path) -> None:
    with opened(recording(tmp_path), written(tmp_path, RAW)) as trace:
        assert trace.ranks == (0,)
        rows: list[dict[str, Any]] = analyses()["inspected_kernels"].run(trace.rank(0)).records()
        assert trace.scalar("SELECT count(*) FROM kernels") == 3
    assert [(row["count"], row["total_ns"], row["share"]) for row in rows] == [(2, 40_000, 0.4)] * 2
    assert (rows[0]["stall"], rows[0]["stall_cycles"]) == ("long_scoreboard", 12.5)


def test_tables_without_launches_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableInputError, match="no counters"):
        opened(written(tmp_path, RAW.split('"0","12"')[0]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,048,576", 1_048_576),
        ("12.5", 12.5),
        ("9,00", 9.0),
        ("1,234", 1234),
        ("n/a", None),
        ("", None),
        ("inf", None),
    ],
)
def test_numbers_as_tools_write_them(text: str, value: float | None) -> None:
    assert number(text) == value


def test_sizes_of_launches() -> None:
    assert sizes("(128, 2, 1)") == (128, 2, 1)
    assert sizes("256") == (256, 1, 1)
    assert sizes("(1,024, 1, 1)") is None


@pytest.mark.parametrize(
    ("sound", "odd"),
    [
        ('"12.384"', '"1e300"'),
        ('"12.384"', '"-5"'),
        ('"(1024, 1, 1)"', '"(9999999999, 1, 1)"'),
        ('"(128, 1, 1)"', '"(9999999999, 1, 1)"'),
        ('"0","8.0"', '"99999999999","8.0"'),
    ],
)
def test_what_no_launch_has_is_dropped_and_counted(tmp_path: Path, sound: str, odd: str) -> None:
    path = tmp_path / "ncu.csv"
    path.write_text(RAW.replace(sound, odd, 1))
    with open_trace(path, Options(cache=False)) as trace:
        assert trace.rows("SELECT count FROM health WHERE code = 'values-unreadable'") == [{"count": 1}]
        assert trace.scalar("SELECT count(*) FROM kernels") == 2
