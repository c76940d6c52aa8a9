"""A database of Nsight Systems that takes plants, as a trace of PyTorch does."""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.comparing.trace import PlantedTrace
from bench.kineto_json import Event, Timeline
from stepscope.ingest import Options, open_trace
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps

#: Tables of activities and calls, and the categories that their rows have in traces of PyTorch.
_CATEGORIES: Final = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernel",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "gpu_memcpy",
    "CUPTI_ACTIVITY_KIND_MEMSET": "gpu_memset",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "cuda_runtime",
    "NVTX_EVENTS": "user_annotation",
}
#: Columns that hold a row's name, as an identifier of a text or as text.
_NAMES: Final = ("demangledName", "shortName", "nameId", "textId", "text")
_COPIES: Final = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}


class PlantedDatabase(PlantedTrace):
    """A copy of a database, to be changed in place."""

    def __init__(self, source: Path) -> None:
        """Read a file."""
        self.source = source
        with sqlite3.connect(f"file:{source}?mode=ro&immutable=1", uri=True) as database:
            database.row_factory = sqlite3.Row
            texts = {row["id"]: row["value"] for row in database.execute("SELECT id, value FROM StringIds")}
            events = [one for table in _tables(database) for one in _events(database, table, texts)]
        self.timeline = Timeline({}, events)
        self.origin = min(one["ts"] for one in self.work())
        self.steps = _steps(source, self.origin)

    def copy(self) -> PlantedDatabase:
        """The same once more."""
        found = PlantedDatabase.__new__(PlantedDatabase)
        found.source, found.origin, found.steps = self.source, self.origin, list(self.steps)
        found.timeline = Timeline({}, [{**one, "args": {**one["args"]}} for one in self.timeline.events])
        return found

    def save(self, path: Path) -> Path:
        """Write it, whatever the name ends in as a database."""
        path = path.with_suffix(".sqlite")
        shutil.copyfile(self.source, path)
        path.chmod(0o644)
        kept: defaultdict[str, dict[int, Event]] = defaultdict(dict)
        added: list[Event] = []
        for one in self.timeline.events:
            table, row = one["row"]
            if row in kept[table]:
                added.append(one)
            else:
                kept[table][row] = one
        with sqlite3.connect(path) as database:
            for table, rows in kept.items():
                _update(database, table, rows)
            for one in added:
                _insert(database, one)
            for table, rows in kept.items():
                for row, one in rows.items():
                    if one["name"] != one["was"]:
                        _rename(database, table, row, one["name"])
        database.close()
        return path


def _tables(database: sqlite3.Connection) -> list[str]:
    names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [name for name in names if "start" in _columns(database, name)]


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]


def _events(database: sqlite3.Connection, table: str, texts: dict[int, str]) -> list[Event]:
    columns = _columns(database, table)
    found = []
    for row in database.execute(f'SELECT rowid AS at, * FROM "{table}" WHERE start IS NOT NULL'):
        name = next((row[one] for one in _NAMES if one in columns and row[one] is not None), table)
        name = texts.get(name, str(name)) if not isinstance(name, str) else name
        if table.endswith("MEMCPY"):
            name = f"Memcpy {_COPIES.get(row['copyKind'], 'other')}"
        end = row["end"] if "end" in columns else None
        event: Event = {
            "ts": row["start"], "name": name, "was": name, "cat": _CATEGORIES.get(table, "other"),
            "ph": "X" if end is not None and table in _CATEGORIES else "i", "row": (table, row["at"]), "args": {},
            "pid": row["deviceId"] if "deviceId" in columns else 0,
            "tid": row["globalTid"] if "globalTid" in columns else row["streamId"] if "streamId" in columns else 0,
        }  # fmt: skip
        if end is not None:
            event["dur"] = max(0, end - row["start"])
        if "correlationId" in columns:
            event["args"] = {"correlation": row["correlationId"]}
        found.append(event)
    return found


def _update(database: sqlite3.Connection, table: str, rows: dict[int, Event]) -> None:
    ended = "end" in _columns(database, table)
    gone = [row for (row,) in database.execute(f'SELECT rowid FROM "{table}" WHERE start IS NOT NULL')]
    database.executemany(f'DELETE FROM "{table}" WHERE rowid = ?', [(row,) for row in gone if row not in rows])
    database.executemany(f'UPDATE "{table}" SET start = ? WHERE rowid = ?', [(e["ts"], row) for row, e in rows.items()])
    if ended:
        ends = [(e["ts"] + e["dur"], row) for row, e in rows.items() if "dur" in e]
        database.executemany(f'UPDATE "{table}" SET "end" = ? WHERE rowid = ?', ends)


def _insert(database: sqlite3.Connection, event: Event) -> None:
    """A row like that of the event's, with its times, its name and its correlation."""
    table, like = event["row"]
    columns = _columns(database, table)
    values: dict[str, Any] = dict(
        zip(columns, database.execute(f'SELECT * FROM "{table}" WHERE rowid = ?', (like,)).fetchone(), strict=True)
    )
    values |= {"start": event["ts"], "end": event["ts"] + event["dur"]}
    if "correlationId" in columns:
        values["correlationId"] = event["args"].get("correlation")
    kept = ", ".join(f'"{one}"' for one in columns)
    marks = ", ".join("?" * len(columns))
    row = database.execute(f'INSERT INTO "{table}" ({kept}) VALUES ({marks})', [values[one] for one in columns])
    _rename(database, table, int(row.lastrowid or 0), event["name"])


def _rename(database: sqlite3.Connection, table: str, row: int, name: str) -> None:
    columns = _columns(database, table)
    known = database.execute("SELECT id FROM StringIds WHERE value = ?", (name,)).fetchone()
    if known is None:
        highest = database.execute("SELECT max(id) FROM StringIds").fetchone()[0]
        database.execute("INSERT INTO StringIds (id, value) VALUES (?, ?)", (highest + 1, name))
        known = (highest + 1,)
    for column in ("demangledName", "shortName", "nameId"):
        if column in columns:
            database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (known[0], row))


def _steps(source: Path, origin: int) -> Sequence[tuple[int, int]]:
    """The complete steps on the devices, in the database's own times."""
    with open_trace(source, Options()) as trace:
        one = trace.rank(trace.ranks[0])
        steps, first = Steps.of(one), int(DeviceWork.of(one).ts.min())
        kept = steps.found & ~steps.partial
        windows = zip(steps.start[kept].tolist(), steps.end[kept].tolist(), strict=True)
        return [(start - first + origin, end - first + origin) for start, end in windows]
