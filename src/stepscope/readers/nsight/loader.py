"""Shared state of loading an export's tables: chunks, event ids, and numbers of names and tracks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from stepscope.readers.nsight.devices import Devices
from stepscope.readers.nsight.processes import pid
from stepscope.readers.nsight.tables import Tables
from stepscope.readers.protocol import Progress
from stepscope.readers.sqlite.columns import Columns
from stepscope.store.staging import Staging

_TABLES: Final = (
    "CREATE TABLE nsight_strings (id BIGINT, value VARCHAR)",
    "CREATE TABLE nsight_processes (global_pid BIGINT, number BIGINT)",
    "CREATE TABLE nsight_threads (global_tid BIGINT, track INTEGER)",
    "CREATE TABLE nsight_queues (global_pid BIGINT, device BIGINT, context BIGINT, stream BIGINT, track INTEGER)",
    "CREATE TABLE nsight_waits (correlation BIGINT, name VARCHAR)",
)
#: Stands for "no stream" in synchronisation rows.
NO_STREAM: Final = 4294967295
#: The process of a row; the first one seen if it has none.
_PROCESS: Final = "coalesce({column}, (SELECT global_pid FROM nsight_processes WHERE number = 0), 0)"
#: Correlation ids are unique within a process only, so the process's number is added.
CORRELATION: Final = (
    "CASE WHEN correlationId > 0 THEN (correlationId & 4294967295) + coalesce(p.number, 0) * 4294967296 END"
)


def process_of(global_tid: str) -> str:
    """SQL for the globalPid of a globalTid: the same with a thread id of 0."""
    return f"({global_tid} - ({global_tid} & 16777215))"


@dataclass(slots=True)
class ExportLoader:
    """The state of reading one export.

    Numbers are assigned in order of first appearance, so that results do not depend on chunk sizes.

    Attributes:
        staging: The staging area.
        tables: The export.
        devices: Numbers of the devices.
        next_id: Id of the next event.
    """

    staging: Staging
    tables: Tables
    devices: Devices
    progress: Progress
    bytes_per_row: float = 0.0
    next_id: int = 0
    _processes: dict[int, int] = field(default_factory=dict)
    _streams: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _contexts: dict[tuple[int, int], int] = field(default_factory=dict)
    _done_bytes: float = 0.0
    _untimed: int = 0

    def __post_init__(self) -> None:
        for statement in _TABLES:
            self.staging.connection.execute(statement)

    def chunks(self, table: str, columns: Columns, untimed: str = "start IS NULL") -> Iterator[None]:
        """Register each chunk of a table in turn as view `chunk`, with an `id` per row.

        Args:
            table: The table.
            columns: Columns to read.
            untimed: SQL condition of rows without a usable time, which are counted, if there is a column `start`.
        """
        connection = self.staging.connection
        for chunk in self.tables.scan(table, columns):
            ids = np.arange(self.next_id, self.next_id + chunk.num_rows, dtype=np.int64)
            self.next_id += chunk.num_rows
            # The table of strings has ids of its own, and DuckDB 1.5 refuses duplicate column names.
            numbered = chunk if "id" in chunk.column_names else chunk.append_column("id", pa.array(ids))
            connection.register("chunk", numbered)
            if "start" in chunk.column_names:
                [found] = self.staging.one(f"SELECT count(*) FROM chunk WHERE {untimed}")
                self._untimed += found
            yield
            connection.unregister("chunk")
            before = self._done_bytes
            self._done_bytes += chunk.num_rows * self.bytes_per_row
            self.progress(int(self._done_bytes) - int(before))

    def close(self) -> None:
        """Report rows without times, and drop all tables but the staged ones."""
        connection = self.staging.connection
        self.staging.observe(
            "events-untimed", "warning", self._untimed, "rows have no number as their start time",
            "they are missing from every number",
        )  # fmt: skip
        rows = connection.execute("SELECT table_name FROM duckdb_tables() WHERE starts_with(table_name, 'nsight_')")
        for (name,) in rows.fetchall():
            connection.execute(f'DROP TABLE "{name}"')

    def load_strings(self) -> None:
        """Fill `nsight_strings`."""
        for _ in self.chunks("StringIds", Columns(ints=("id",), texts=("value",))):
            self.staging.connection.execute("INSERT INTO nsight_strings SELECT id, value FROM chunk")
        self.next_id = 0

    def strings(self, ids: set[int]) -> dict[int, str]:
        """The strings with these ids; `#id` for missing ones."""
        self.staging.connection.register("wanted", pa.table({"id": pa.array(sorted(ids), pa.int64())}))
        rows = self.staging.connection.execute(
            "SELECT id, any_value(value) FROM wanted LEFT JOIN nsight_strings USING (id) GROUP BY id"
        ).fetchall()
        self.staging.connection.unregister("wanted")
        return {key: ("unnamed" if key < 0 else f"#{key}") if value is None else value for key, value in rows}

    def number_processes(self, query: str) -> None:
        """Number processes from 0, in the order of the query's globalPids."""
        new = []
        for (global_pid,) in self.staging.connection.execute(query).fetchall():
            if global_pid is not None and global_pid not in self._processes:
                number = self._processes[global_pid] = len(self._processes)
                new.append((global_pid, number))
        self.staging.insert_rows("nsight_processes", new)

    @property
    def processes(self) -> list[int]:
        """The globalPids of the processes seen so far."""
        return list(self._processes)

    def add_threads(self, column: str = "globalTid", relation: str = "chunk") -> None:
        """Number the threads in a column; rows without one get a thread of their own, 0."""
        connection = self.staging.connection
        rows = connection.execute(
            f"SELECT coalesce(r.{column}, 0) FROM {relation} r "
            f"ANTI JOIN nsight_threads t ON t.global_tid = coalesce(r.{column}, 0) GROUP BY 1 ORDER BY min(r.id)"
        ).fetchall()
        self.staging.insert_rows("nsight_threads", [(thread, self.thread(thread)) for (thread,) in rows])
        self.number_processes(
            f"SELECT {process_of(column)} FROM {relation} WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY min(id)"
        )

    def thread(self, global_tid: int, suffix: str = "") -> int:
        """The track of a thread; with a suffix a separate track beside its calls."""
        process = str(pid(global_tid))
        return self.staging.track("host", process=process, thread=f"{global_tid & 0xFFFFFF}{suffix}")

    def add_queues(self, *, device_known: bool = True) -> None:
        """Number the device queues of the chunk: columns globalPid, deviceId, contextId and streamId.

        Args:
            device_known: Whether the chunk's device is correct. Waits are always recorded with device 0; the device of
                their context is used instead.
        """
        connection = self.staging.connection
        self.number_processes("SELECT globalPid FROM chunk WHERE globalPid IS NOT NULL GROUP BY 1 ORDER BY min(id)")
        rows = connection.execute(
            f"SELECT global_pid, device, context, stream FROM (SELECT id, {QUEUE_KEY} FROM chunk) "
            "ANTI JOIN nsight_queues USING (global_pid, device, context, stream) GROUP BY ALL ORDER BY min(id)"
        ).fetchall()
        new = []
        for global_pid, device, context, stream in rows:
            seen = self._contexts.setdefault((global_pid, context), device)
            track = self._queue(global_pid, device if device_known else seen, context, stream)
            new.append((global_pid, device, context, stream, track))
        self.staging.insert_rows("nsight_queues", new)

    def _queue(self, global_pid: int, device: int, context: int, stream: int) -> int:
        """The track of a queue; equal stream numbers in different processes or contexts are different queues."""
        number = self.devices.number(pid(global_pid), device)
        name = f"context {context}" if stream == NO_STREAM else str(stream)
        owner = self._streams.setdefault((number, stream), (global_pid, context))
        if owner[0] != global_pid:
            name = f"{name} of process {pid(global_pid)}"
        if owner[1] != context and stream != NO_STREAM:
            name = f"{name} of context {context}"
        return self.staging.track("device", process=str(pid(global_pid)), device=number, stream=name)


#: SQL for the key of a queue in a chunk of device activities.
QUEUE_KEY: Final = (
    f"{_PROCESS.format(column='globalPid')} AS global_pid, coalesce(deviceId, 0) AS device, "
    f"coalesce(contextId, 0) AS context, coalesce(streamId, {NO_STREAM}) AS stream"
)
