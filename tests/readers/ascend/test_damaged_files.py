"""Files of a result that are damaged: each is named, and what was lost is not passed over."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from bench.damage.small_ascend import at, kernel_rows, write_csv, write_text

from readers.conformance import open_fresh
from stepscope.readers.ascend.csv_load import MOST_COLUMNS


def said(folder: Path) -> dict[str, str]:
    """Lines of health by the file that they name first."""
    with open_fresh(folder) as trace:
        rows = trace.sql("SELECT code, message FROM health ORDER BY ALL").to_pylist()
    return {f"{row['code']}": row["message"] for row in rows}


def whole(folder: Path) -> Path:
    """A result with tables and summaries of every kind."""
    output = write_text(folder)
    step = {"Step": "7", "Computing": "100.5", "Communication(Not Overlapped)": "99.5", "Overlapped": "50.5"}
    write_csv(output / "step_trace_time.csv", [{**step, "Communication": "150.0", "Free": "3.0"}])
    apis = [{"Level": "acl", "API Name": f"aclnnCall{i}", "Time(us)": "1.5", "Count": "2"} for i in range(40)]
    write_csv(output / "api_statistic.csv", apis)
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 20.0, "Transit Time(ms)": 1.0}
    links = {f"allreduce-top{i}@12345678": {"0-1": link} for i in range(20)}
    (output / "communication_matrix.json").write_text(json.dumps({"step7": {"collective": links}}))
    return output


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of the result as it is."""
    folder = tmp_path_factory.mktemp("sound")
    whole(folder / "x_ascend_pt")
    return said(folder)


def test_blocks_without_times_are_counted(tmp_path: Path) -> None:
    output = whole(tmp_path / "x_ascend_pt")
    block = {"Name": "aten::empty", "Size(KB)": "4.0", "Allocation Time(us)": at(100), "Release Time(us)": at(200)}
    gone = {**block, "Allocation Time(us)": "", "Release Time(us)": ""}
    write_csv(output / "operator_memory.csv", [block, {**block, "Release Time(us)": ""}])
    assert "blocks-untimed" not in said(tmp_path)
    write_csv(output / "operator_memory.csv", [block, gone])
    assert "blocks of memory have no time" in said(tmp_path)["blocks-untimed"]


def zeros(content: bytes) -> bytes:
    """A block of zeros from within one text to within another."""
    first = content.index(b"a", len(content) // 3)
    return content[:first] + bytes(120) + content[first + 120 :]


#: What is done to the steps, the calls and the links of one result, and what is said of each.
DAMAGES: list[dict[str, tuple[Callable[[bytes], bytes], str | None]]] = [
    {
        "step_trace_time.csv": (lambda content: content.replace(b"50.5", b"xyz"), "cells-unreadable"),
        "api_statistic.csv": (zeros, "input-damaged"),
        "communication_matrix.json": (lambda content: content[: len(content) // 2], "file-unreadable"),
    },
    {
        "step_trace_time.csv": (lambda _: b"", "file-empty"),
        "api_statistic.csv": (lambda content: content.replace(b",2\n", b",?\n", 1), "cells-unreadable"),
        "communication_matrix.json": (zeros, None),
    },
    {
        "step_trace_time.csv": (lambda content: content[: content.index(b"\n") + 1], "file-empty"),
        "api_statistic.csv": (lambda content: bytes(range(256)) * (len(content) // 256), "input-damaged"),
    },
    {
        "step_trace_time.csv": (lambda content: content[:-5], "truncated"),
        "communication_matrix.json": (lambda _: b"", "file-empty"),
    },
]


@pytest.mark.parametrize("damages", DAMAGES)
def test_each_damaged_file_is_named(
    tmp_path: Path, sound: dict[str, str], damages: dict[str, tuple[Callable[[bytes], bytes], str | None]]
) -> None:
    output = whole(tmp_path / "x_ascend_pt")
    for name, (damage, _) in damages.items():
        (output / name).write_bytes(damage((output / name).read_bytes()))
    new = {key: message for key, message in said(tmp_path).items() if key not in sound}
    for name, (_, code) in damages.items():
        assert any(name in message for message in new.values()), new
        assert code is None or name in new[code]


def test_numbers_that_nothing_can_hold_are_counted_as_cells(tmp_path: Path, sound: dict[str, str]) -> None:
    output = whole(tmp_path / "x_ascend_pt")
    sample = {"Component": "PTA", "Timestamp(us)": at(100), "Total Reserved(MB)": "2.0", "Device Type": "NPU:0"}
    numbers = ("1e999", "NaN", "-inf", "9223372036854775808", "9.3e15")
    columns = ("Timestamp(us)", "Total Reserved(MB)")
    odd = [{**sample, column: number} for column in columns for number in numbers]
    write_csv(output / "memory_record.csv", [sample, *odd])
    assert "cells-unreadable" not in sound
    with open_fresh(tmp_path) as trace:
        [line] = trace.sql("SELECT count, message FROM health WHERE code = 'cells-unreadable'").to_pylist()
    assert (line["count"], "memory_record.csv" in line["message"]) == (len(odd), True)


@pytest.mark.parametrize("number", ["9223372036854775808", "1e300", "9.3e15"])
def test_numbers_beyond_any_time_or_count_stop_nothing(tmp_path: Path, number: str) -> None:
    output = whole(tmp_path / "x_ascend_pt")
    step = {"Step": "7", "Computing": number, "Communication(Not Overlapped)": number, "Overlapped": "1.0"}
    write_csv(output / "step_trace_time.csv", [{**step, "Communication": number, "Free": number}])
    kind = {"OP Type": "MatMul", "Core Type": "AI_CORE", "Count": number, "Total Time(us)": number, "Min Time(us)": "1"}
    write_csv(output / "op_statistic.csv", [{**kind, "Avg Time(us)": number, "Max Time(us)": number, "Ratio(%)": "1"}])
    sample = {"Timestamp(us)": at(100), "Total Allocated(MB)": number, "Total Reserved(MB)": number}
    components = [{"Component": name, **sample, "Device Type": "NPU:0"} for name in ("PTA", "PTA+GE")]
    write_csv(output / "memory_record.csv", components)
    assert said(tmp_path)
    for name in ("trace_view.json", "kernel_details.csv"):
        (output / name).unlink(missing_ok=True)
    assert said(tmp_path)


#: Samples of three components, and what is done to the last one: what it says then, and how many samples are kept.
SAMPLE = {"Component": "PTA", "Timestamp(us)": at(100), "Total Allocated(MB)": "1.0", "Total Reserved(MB)": "2.0"}


@pytest.mark.parametrize(
    ("name", "lost", "code", "kept"),
    [
        ("memory_record.csv", {}, None, 6),
        ("memory_record.csv", {"Timestamp(us)": "N/A"}, "rows-skipped", 4),
        ("memory_record.csv", {"Component": ""}, "rows-skipped", 4),
        ("memory_record.csv", {"Total Allocated(MB)": "", "Total Reserved(MB)": "\t"}, "rows-skipped", 4),
        ("memory_record.csv", {"Total Reserved(MB)": ""}, "cells-unreadable", 5),
        ("npu_module_mem.csv", {"Total Reserved(MB)": ""}, "rows-skipped", 2),
        ("nic.csv", {"Total Reserved(MB)": ""}, "cells-unreadable", 5),
        ("nic.csv", {"Timestamp(us)": ""}, "rows-skipped", 4),
    ],
)
def test_samples_that_lack_something_are_counted(
    tmp_path: Path, name: str, lost: dict[str, str], code: str | None, kept: int
) -> None:
    output = write_text(tmp_path / "x_ascend_pt")
    write_csv(
        output / name, [SAMPLE, {**SAMPLE, "Timestamp(us)": at(200)}, {**SAMPLE, "Timestamp(us)": at(300), **lost}]
    )
    with open_fresh(tmp_path) as trace:
        lines = trace.rows("SELECT code, count FROM health WHERE code IN ('rows-skipped', 'cells-unreadable')")
        assert lines == ([{"code": code, "count": 1}] if code else [])
        assert trace.scalar("SELECT count(*) FROM counters WHERE name NOT LIKE 'AI Core%'") == kept


#: What stands where the profiler writes sums, and how many of three it costs.
@pytest.mark.parametrize(
    ("value", "lost"), [(5.5, 0), (None, 1), ("x", 1), (True, 1), (1e300, 1), (10**400, 1), (float("inf"), 1)]
)
def test_sums_that_are_no_numbers_are_counted(tmp_path: Path, value: object, lost: int) -> None:
    output = write_text(tmp_path / "x_ascend_pt")
    times = {"Start Timestamp(us)": 100.0, "Elapse Time(ms)": value}
    link = {"Transit Size(MB)": 1.0, "Transport Type": "SDMA", "Size Distribution": {"64": [value, 2.0]}}
    parts = {"Communication Time Info": times, "Communication Bandwidth Info": {"SDMA": link}}
    (output / "communication.json").write_text(json.dumps({"step7": {"collective": {"hcom_x@1": parts}}}))
    matrix = {"hcom_x@1": {"0-1": {"Transport Type": "HCCS", "Transit Time(ms)": value, "Op Name": "hcom_x"}}}
    (output / "communication_matrix.json").write_text(json.dumps({"step7": {"collective": matrix}}))
    with open_fresh(tmp_path) as trace:
        lines = trace.rows("SELECT count, message FROM health WHERE code = 'values-unreadable'")
        kept = trace.scalar("SELECT count(*) FROM recorded WHERE source IN ('communication', 'packets', 'matrix')")
    sums = "sums of the profiler are no numbers, or too large to be right"
    assert lines == ([{"count": 3, "message": sums}] if lost else [])
    assert kept == 5 - 3 * lost


def test_sums_of_a_database_that_are_no_numbers_are_counted(tmp_path: Path) -> None:
    output = write_text(tmp_path / "x_ascend_pt")
    with closing(sqlite3.connect(output / "analysis.db")) as connection, connection:
        connection.execute("CREATE TABLE StepTraceTime (step, computing, free, bubble, note)")
        connection.execute("INSERT INTO StepTraceTime VALUES (7, ?, 'x', 2.0, 'words')", [float("inf")])
    with open_fresh(tmp_path) as trace:
        assert trace.rows("SELECT count FROM health WHERE code = 'values-unreadable'") == [{"count": 2}]
        assert trace.rows("SELECT metric, value FROM recorded WHERE source = 'steps'") == [
            {"metric": "Bubble", "value": 2.0}
        ]


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [("ph", "N/A", "events-foreign"), ("dur", None, "durations-missing"), ("ts", "soon", "events-untimed")],
)
def test_events_of_the_trace_that_lack_something_are_counted(
    tmp_path: Path, key: str, value: object, code: str
) -> None:
    output = write_text(tmp_path / "x_ascend_pt")
    path = output / "trace_view.json"
    events = json.loads(path.read_text())
    event = next(one for one in events if one["ph"] == "X" and one.get("cat") == "cpu_op")
    event[key] = value
    path.write_text(json.dumps(events))
    with open_fresh(tmp_path) as trace:
        assert trace.rows("SELECT count FROM health WHERE code = $code", {"code": code}) == [{"count": 1}]


def test_a_wide_table_is_read_in_batches_up_to_a_number_of_columns(tmp_path: Path) -> None:
    output = whole(tmp_path / "x_ascend_pt")
    more = {f"aic_more_{i}(us)": str(i) for i in range(MOST_COLUMNS)}
    write_csv(output / "kernel_details.csv", kernel_rows(**more))
    before = len(kernel_rows()[0])
    with open_fresh(tmp_path) as trace:
        [line] = trace.rows("SELECT count, message FROM health WHERE code = 'columns-left-out'")
        values = trace.rows("SELECT metric, value FROM kernel_metrics WHERE metric LIKE 'aic_more%'")
    assert line == {"count": before, "message": f"kernel_details.csv has more than {MOST_COLUMNS} columns"}
    assert {row["metric"]: row["value"] for row in values} == {
        f"aic_more_{i}": 1000.0 * i for i in range(MOST_COLUMNS - before)
    }
