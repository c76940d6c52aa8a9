"""Values of a database that no reader expects: ids that mean none, cells of other types, views, rows without times."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import START, write_database

from readers.conformance import open_fresh

NS = START * 1000
#: More tables than the small job has: each with one sound row.
MORE = {
    "NPU_MEM": ("type, ddr, hbm, timestampNs, deviceId", (1, 1024, 2048, NS + 5, 3)),
    "MEMORY_RECORD": (
        "component, timestamp, totalAllocated, totalReserved, totalActive, streamPtr, deviceId",
        (1, NS + 6, 100, 200, 100, 7, 3),
    ),
    "NPU_MODULE_MEM": ("moduleId, timestampNs, totalReserved, deviceId", (0, NS + 7, 300, 3)),
    "OP_MEMORY": (
        "name, size, allocationTime, releaseTime, allocationTotalAllocated, allocationTotalReserved, "
        "releaseTotalAllocated, releaseTotalReserved, deviceId",
        (1, 512, NS + 8_000, NS + 9_000, 600, 700, 88, 700, 3),
    ),
    "MSTX_EVENTS": (
        "startNs, endNs, eventType, rangeId, category, message, globalTid, endGlobalTid, domainId, connectionId",
        (NS + 10_000, NS + 20_000, 1, 0, 0, 1, 5 << 32 | 5, 5 << 32 | 5, 0, 4294967295),
    ),
    "GC_RECORD": ("startNs, endNs, globalTid", (NS + 30_000, NS + 31_000, 5 << 32 | 5)),
    "NIC": ("deviceId, timestampNs, bandwidth, rxPacketRate, funcId", (3, NS + 11, 5, 6.0, 0)),
}
#: The time of each table whose rows are events or samples.
TIMES = {
    "PYTORCH_API": "startNs", "CANN_API": "startNs", "TASK": "startNs", "COMMUNICATION_OP": "startNs",
    "MSTX_EVENTS": "startNs", "GC_RECORD": "startNs", "AICORE_FREQ": "timestampNs", "NPU_MEM": "timestampNs",
    "MEMORY_RECORD": "timestamp", "NPU_MODULE_MEM": "timestampNs", "NIC": "timestampNs",
}  # fmt: skip
#: What was measured, and is no id.
AMOUNTS = {"totalAllocated", "totalReserved", "totalActive"}
WRONG = [None, "soon", b"\xff", 1e308, float("inf"), 2**63 - 1, -1]
#: All that says "none" where an id belongs; as text it is what SQL makes of 2^64 - 1.
NONES: list[Any] = [None, -1, 2**32 - 1, 2**63 - 1, 2.0**64]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_database(tmp_path_factory.mktemp("sound") / "ascend_pytorch_profiler_3.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, (columns, row) in MORE.items():
            connection.execute(f"CREATE TABLE {table} ({columns})")
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    return path


def changed(sound: Path, folder: Path, *statements: tuple[str, list[Any]]) -> Path:
    path = folder / sound.name
    path.write_bytes(sound.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement, values in statements:
            connection.execute(statement, values)
    return path


def read(path: Path) -> tuple[Counter[str], Counter[str], list[str]]:
    """Rows by table, health by code, and its messages."""
    with open_fresh(path) as trace:
        tables = ("events", "counters", "memory", "kernels", "collectives")
        rows = Counter({table: int(trace.scalar(f"SELECT count(*) FROM {table}")) for table in tables})
        lines = trace.rows("SELECT code, count, message FROM health WHERE code <> 'events-read'")
    health: Counter[str] = Counter()
    for line in lines:
        health[line["code"]] += line["count"]
    return rows, health, [line["message"] for line in lines]


def columns_of(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")]


@pytest.mark.parametrize("none", NONES, ids=str)
def test_an_id_that_means_none_is_none_in_every_column(sound: Path, tmp_path: Path, none: Any) -> None:
    # Without the number of its task a part of a collective has no time, and a kernel no description; without a plane
    # and a kind a part is the task of a stream. A sample of nothing says nothing.
    others = (
        {"endNs", "allocationTime", "releaseTime", "globalTaskId", "planeId", "value", "rxPacketRate"}
        | AMOUNTS
        | {"component", "type"}
    )
    others |= set(TIMES.values())
    ids = [
        (table, column)
        for table, column in columns_of(sound)
        if column not in others and table not in ("STRING_IDS", "STEP_TIME") and not table.startswith("ENUM")
    ]
    path = changed(sound, tmp_path, *((f"UPDATE {t} SET {c} = ? WHERE rowid = 1", [none]) for t, c in ids))
    rows, health, messages = read(path)
    before, _, _ = read(sound)
    assert (rows["events"], rows["kernels"], rows["collectives"]) == tuple(
        before[table] for table in ("events", "kernels", "collectives")
    )
    assert not {"values-unreadable", "events-untimed"} & set(health), messages


@pytest.mark.parametrize("value", WRONG, ids=str)
def test_rows_without_a_time_are_counted_by_table(sound: Path, tmp_path: Path, value: Any) -> None:
    path = changed(
        sound, tmp_path, *((f"UPDATE {table} SET {time} = ? WHERE rowid = 1", [value]) for table, time in TIMES.items())
    )
    _, health, messages = read(path)
    before = read(sound)[1]
    assert health["events-untimed"] - before["events-untimed"] == len(TIMES)
    for table in TIMES:
        assert any(message == f"rows of {table} have no number as their time" for message in messages)
    # Nothing of the kind is said where there is no value at all.
    assert ("values-unreadable" in health) == (value in ("soon", b"\xff", 1e308, float("inf")))


def test_values_of_other_types_are_counted_with_their_columns(sound: Path, tmp_path: Path) -> None:
    path = changed(
        sound, tmp_path,
        ("UPDATE OP_MEMORY SET allocationTime = 'soon'", []),
        ("UPDATE TASK_PMU_INFO SET value = ? WHERE rowid = 1", [float("inf")]),
        ("UPDATE TASK SET deviceId = ? WHERE rowid = 1", [2**40]),
        ("UPDATE COMMUNICATION_TASK_INFO SET planeId = -7 WHERE rowid = 1", []),
        ("UPDATE MEMORY_RECORD SET totalAllocated = ? WHERE rowid = 1", [2**63 - 1]),
        ("UPDATE MEMORY_RECORD SET totalReserved = -1 WHERE rowid = 1", []),
    )  # fmt: skip
    _, health, messages = read(path)
    assert health["values-unreadable"] == 6
    [said] = [message for message in messages if "another type" in message]
    for column in ("OP_MEMORY.allocationTime", "TASK_PMU_INFO.value", "TASK.deviceId"):
        assert column in said


@pytest.mark.parametrize(("another", "absent"), [(100, 1), (None, 0)])
def test_samples_without_a_value_are_counted_where_their_kind_has_values(
    sound: Path, tmp_path: Path, another: int | None, absent: int
) -> None:
    path = changed(
        sound, tmp_path,
        ("UPDATE MEMORY_RECORD SET totalActive = NULL", []),
        (f"INSERT INTO MEMORY_RECORD VALUES (1, {NS + 8}, 300, 400, ?, 7, 3)", [another]),
    )  # fmt: skip
    _, health, messages = read(path)
    assert health.get("values-unreadable", 0) == absent
    assert ("samples of MEMORY_RECORD have no value" in messages) == bool(absent)


def test_samples_whose_name_is_lost_are_counted(sound: Path, tmp_path: Path) -> None:
    path = changed(sound, tmp_path, ("UPDATE MEMORY_RECORD SET component = 4711", []))
    _, health, messages = read(path)
    assert health["values-unreadable"] == 3
    assert "samples of MEMORY_RECORD have no name" in messages


@pytest.mark.parametrize("table", ["MEMORY_RECORD", "TASK", "STRING_IDS", "META_DATA"])
def test_a_view_in_the_place_of_a_table_is_named(sound: Path, tmp_path: Path, table: str) -> None:
    path = changed(
        sound,
        tmp_path,
        (f"ALTER TABLE {table} RENAME TO moved", []),
        (f"CREATE VIEW {table} AS SELECT * FROM moved", []),
    )
    _, health, messages = read(path)
    assert health["table-unread"] == 1
    assert f"{table} of ascend_pytorch_profiler_3.db is a view, which is not read" in messages


def test_durations_beyond_64_bits_are_none(sound: Path, tmp_path: Path) -> None:
    path = changed(sound, tmp_path, ("UPDATE TASK SET startNs = ?, endNs = ? WHERE rowid = 1", [-(2**62), 2**63 - 2]))
    rows, health, _ = read(path)
    assert rows["events"] == read(sound)[0]["events"] - 1
    assert health["time-missing"] == 1


def test_a_part_without_its_task_is_counted(sound: Path, tmp_path: Path) -> None:
    path = changed(sound, tmp_path, ("UPDATE COMMUNICATION_TASK_INFO SET globalTaskId = 999 WHERE rowid = 1", []))
    assert read(path)[1]["parts-untimed"] == 1


def test_parts_without_planes_tell_the_collective_of_tasks(sound: Path, tmp_path: Path) -> None:
    """Level 0: two collectives at once, and only the table tells whose wait it was."""
    none = 2**32 - 1
    parts = "planeId = ?, srcRank = ?, dstRank = ?, size = -1, transportType = 65534, linkType = 65534, taskType = ?"
    path = changed(
        sound, tmp_path,
        ("INSERT INTO STRING_IDS VALUES (9001, 'N/A')", []),
        ("INSERT INTO STRING_IDS VALUES (9002, 'hcom_allReduce__532_6_1')", []),
        ("INSERT INTO COMMUNICATION_OP SELECT 9002, startNs - 50, endNs + 50, 24, groupName, 2, dataType, algType, 8, "
         "opType FROM COMMUNICATION_OP", []),
        (f"UPDATE COMMUNICATION_TASK_INFO SET {parts}", [none, none, none, 9001]),
    )  # fmt: skip
    with open_fresh(path) as trace:
        rows = trace.rows(
            "SELECT p.kind, s.name, c.name AS collective, p.plane, p.link FROM comm_tasks p "
            "JOIN events s ON s.id = p.event JOIN events c ON c.id = p.collective ORDER BY s.ts"
        )
    wait = {"kind": "wait", "name": "Notify Wait", "collective": "hcom_allReduce__532_5_1", "plane": None, "link": None}
    assert rows == [wait, {**wait, "kind": "copy", "name": "SDMA"}]
