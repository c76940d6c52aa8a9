"""Small exports of Nsight Systems, stated row by row."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
SYNC = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

PUSH_POP, START_END, MARK, THREAD_NAME, DOMAIN = 59, 60, 34, 39, 75


def global_pid(pid: int) -> int:
    """The identity of a process: hardware 1, no virtual machine."""
    return (1 << 56) | (pid << 24)


def global_tid(pid: int, tid: int | None = None) -> int:
    """The identity of a thread; the main one if no other is given."""
    return global_pid(pid) | (pid if tid is None else tid)


class Export:
    """An export to be: tables with the columns of the rows that are stated, and nothing else."""

    def __init__(self) -> None:
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self._strings: dict[str | bytes, int] = {}
        self.text("")

    def text(self, value: str | bytes) -> int:
        """The id of a string."""
        if value not in self._strings:
            self._strings[value] = len(self._strings) + 1
            self.row("StringIds", id=self._strings[value], value=value)
        return self._strings[value]

    def row(self, table: str, **values: Any) -> None:
        self.tables.setdefault(table, []).append(values)

    def call(self, name: str, start: int, end: int, correlation: int, pid: int = 7, tid: int | None = None) -> None:
        """A call of the CUDA runtime or driver."""
        self.row(
            RUNTIME, start=start, end=end, eventClass=0, globalTid=global_tid(pid, tid), correlationId=correlation,
            nameId=self.text(name), returnValue=0,
        )  # fmt: skip

    def work(self, table: str, start: int, end: int, correlation: int, pid: int = 7, **values: Any) -> None:
        """Activity on a device."""
        self.row(
            table,
            **{
                "start": start, "end": end, "deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": correlation,
                "globalPid": global_pid(pid), **values,
            },
        )  # fmt: skip

    def kernel(self, name: str, start: int, end: int, correlation: int, pid: int = 7, **values: Any) -> None:
        number = self.text(name)
        self.work(KERNEL, start, end, correlation, pid, demangledName=number, shortName=number, **values)

    def nvtx(self, kind: int | None, text: str | None, start: int | None, end: int | None, **values: Any) -> None:
        values = {"globalTid": global_tid(7), "domainId": 0, **values}
        self.row("NVTX_EVENTS", start=start, end=end, eventType=kind, text=text, **values)

    def sqlite(self, path: Path) -> Path:
        """Write a database."""
        connection = sqlite3.connect(path)
        for name, columns, rows in self._columns():
            declared = ", ".join(f'"{column}"' for column in columns)
            connection.execute(f'CREATE TABLE "{name}" ({declared})')
            marks = ", ".join("CAST(? AS TEXT)" if column == "value" else "?" for column in columns)
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
        connection.commit()
        connection.close()
        return path

    def folder(self, path: Path, kind: str) -> Path:
        """Write a folder with a file per table: parquet, file (Arrow's file format) or stream."""
        path.mkdir()
        for name, columns, rows in self._columns():
            arrays = [pa.array(values) for values in zip(*rows, strict=True)]
            write(pa.Table.from_arrays(arrays, names=columns), path / name, kind)
        return path

    def _columns(self) -> list[tuple[str, list[str], list[tuple[Any, ...]]]]:
        found = []
        for name, rows in self.tables.items():
            columns = list(dict.fromkeys(column for row in rows for column in row))
            found.append((name, columns, [tuple(row.get(column) for column in columns) for row in rows]))
        return found


def write(table: pa.Table, stem: Path, kind: str, chunk: int = 2) -> None:
    """Write one table of an export folder."""
    if kind == "parquet":
        pq.write_table(table, stem.with_suffix(".parquet"))
        return
    make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with make(stem.with_suffix(".arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=chunk)
