"""Exports of Nsight Systems and memory snapshots, repeated one after the other to a wished number of events."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
from pathlib import Path
from typing import Any, Final

#: Columns that hold times of an event, and those that tie events together within one repetition.
_TIMES: Final = ("start", "end", "timestamp", "rawTimestamp")
_IDS: Final = ("correlationId",)


def repeat_export(source: Path, target: Path, events: int) -> int:
    """Copy an SQLite export with its events repeated until there are about so many; returns the repetitions."""
    shutil.copyfile(source, target)
    connection = sqlite3.connect(target)
    tables = event_tables(connection)
    counts = {table: connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables}
    times = max(1, events // max(1, sum(counts.values())))
    bounds = [
        connection.execute(f'SELECT min("start"), max(coalesce("{_end(columns)}", "start")) FROM "{table}"').fetchone()
        for table, columns in tables.items()
        if counts[table]
    ]
    span = max(last for _, last in bounds) - min(first for first, _ in bounds) + 1_000_000
    stride = 1 + max(
        (
            connection.execute(f'SELECT coalesce(max("{name}"), 0) FROM "{table}"').fetchone()[0]
            for table, columns in tables.items()
            for name in _IDS
            if name in columns
        ),
        default=0,
    )
    for table, columns in tables.items():
        copied = [name for name in columns if name != "id"]
        values = ", ".join(_shifted(name, span, stride) for name in copied)
        names = ", ".join(f'"{name}"' for name in copied)
        connection.execute(
            f"WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {times - 1}) "
            f'INSERT INTO "{table}" ({names}) SELECT {values} FROM n, "{table}" WHERE {times} > 1'
        )
    connection.commit()
    connection.close()
    return times


def event_tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Tables whose rows start at a time, with their columns."""
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')] for name in names}
    return {name: found for name, found in columns.items() if "start" in found and not name.startswith("TARGET_INFO")}


def _end(columns: list[str]) -> str:
    return "end" if "end" in columns else "start"


def _shifted(name: str, span: int, stride: int) -> str:
    if name in _TIMES:
        return f'"{name}" + k * {span}'
    return f'CASE WHEN "{name}" > 0 THEN "{name}" + k * {stride} ELSE "{name}" END' if name in _IDS else f'"{name}"'


def repeat_snapshot(source: Path, target: Path, events: int) -> int:
    """Copy a memory snapshot with its history repeated until there are about so many events.

    The file must be one's own or a trusted one: it is unpickled.
    """
    with source.open("rb") as file:
        snapshot: dict[str, Any] = pickle.load(file)
    histories = snapshot.get("device_traces") or []
    total = sum(map(len, histories))
    times = max(1, events // max(1, total))
    stamps = [entry["time_us"] for history in histories for entry in history if "time_us" in entry]
    span = max(stamps) - min(stamps) + 1000 if stamps else 0
    snapshot["device_traces"] = [
        [
            {**entry, "time_us": entry["time_us"] + k * span} if "time_us" in entry else entry
            for k in range(times)
            for entry in history
        ]
        for history in histories
    ]
    with target.open("wb") as file:
        pickle.dump(snapshot, file)
    return times
