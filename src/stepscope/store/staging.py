"""The staging area: facts as recorded, before anything is derived from them.

A `Staging` is a DuckDB database in memory that spills to disk beyond its memory limit. Readers fill the tables
declared here in the order of the recording; `ingest` derives the rest (nesting, steps, launches, classes) and writes
the store.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb

from stepscope.model.categories import CATEGORIES
from stepscope.model.process.databases import Database
from stepscope.model.tables import (
    COLLECTIVES,
    COMM_TASKS,
    COPIES,
    COUNTERS,
    DEVICES,
    GROUPS,
    KERNEL_COUNTERS,
    KERNEL_METRICS,
    LONG_TEXTS,
    OP_INPUTS,
    RECORDED,
    SAMPLES,
    TRACKS,
)
from stepscope.model.tables.machine import MACHINE_TABLES
from stepscope.model.tables.memory import MEMORY_TABLES
from stepscope.store.inputs import INPUT_CALLS, INPUT_TEXTS
from stepscope.store.layout import PARQUET, columns_sql, stored_columns

if TYPE_CHECKING:
    import pyarrow as pa
from stepscope.store.raw_tables import RAW_COSTS, RAW_EVENTS, RAW_FLOWS, RAW_KERNELS, RAW_MEMORY

_RAW: Final = (RAW_EVENTS, RAW_KERNELS, RAW_COSTS, RAW_MEMORY, RAW_FLOWS, INPUT_CALLS, INPUT_TEXTS)
_AS_DECLARED: Final = (
    TRACKS, KERNEL_METRICS, KERNEL_COUNTERS, COLLECTIVES, COMM_TASKS, COPIES, COUNTERS, SAMPLES, DEVICES, OP_INPUTS,
    GROUPS,
    *MEMORY_TABLES, *MACHINE_TABLES, RECORDED, LONG_TEXTS,
)  # fmt: skip
#: Category of events as an enum: scans read a byte per event instead of a text.
_TABLES: Final = (
    f"CREATE TYPE category AS ENUM ({', '.join(map(repr, CATEGORIES))})",
    *(f'CREATE TABLE "{table.name}" ({columns_sql(table.columns)})' for table in _RAW),
    *(f'CREATE TABLE "{table.name}" ({columns_sql(stored_columns(table))})' for table in _AS_DECLARED),
    "ALTER TABLE raw_events ALTER category TYPE category",
    "ALTER TABLE input_texts ADD COLUMN text_key UBIGINT",
    "CREATE TABLE names (name_id INTEGER, name VARCHAR)",
    *(f"CREATE SEQUENCE {sequence} MINVALUE 0 START 0" for sequence in ("name_ids", "text_ids")),
)

#: Columns of staged tables that may hold names of any length, by table.
NAMES: Final = {
    "names": ("name",),
    **{
        table.name: columns
        for table in _AS_DECLARED
        if table is not LONG_TEXTS
        and (columns := tuple(column.name for column in table.columns if column.type == "string"))
    },
}

#: DuckDB's estimate is exact but for deleted rows, which it counts.
_ROWS_SQL: Final = "SELECT table_name, estimated_size FROM duckdb_tables() WHERE estimated_size > 0"


def first_row(connection: duckdb.DuckDBPyConnection, query: str, parameters: object = None) -> tuple[Any, ...]:
    """The first row of a query's result, read to its end; (None,) if there is no row.

    For statements that change rows it is their number.
    """
    rows = connection.execute(query, parameters).fetchall()
    return tuple(rows[0]) if rows else (None,)


@dataclass(frozen=True, slots=True)
class Observation:
    """A health line: something wrong with the recording, or missing from it."""

    code: str
    severity: str
    count: int
    message: str
    effect: str


@dataclass(slots=True)
class Staging:
    """The staging area of one recording.

    Attributes:
        folder: Where the store is being written; removed if reading fails.
        connection: DuckDB with the raw tables, `names(name_id, name)` and the tables that need no derivation.
        health: The observations so far.
        memory_mb: Memory that the database may use before it spills to disk.
        threads: Cores that each statement may use; 0 for half of all, as two statements run at a time.
    """

    folder: Path
    memory_mb: int = 600
    threads: int = 0
    connection: duckdb.DuckDBPyConnection = field(init=False)
    health: list[Observation] = field(default_factory=list)
    _database: Database = field(init=False)
    _args_files: int = 0
    _tracks: dict[tuple[object, ...], int] = field(default_factory=dict)
    _unwritten: list[tuple[object, ...]] = field(default_factory=list)
    _rows: dict[str, int] | None = None

    def __post_init__(self) -> None:
        spill = self.folder / "spill"
        spill.mkdir(parents=True, exist_ok=True)
        threads = self.threads or _half_of_the_cores()
        self._database = Database(
            {"autoinstall_known_extensions": "false", "threads": str(threads)},
            {"temp_directory": str(spill), "memory_limit": f"{self.memory_mb}MB"},
            _TABLES,
        )
        self.connection = self._database.connect()

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Another connection, for statements that run beside those of `connection`."""
        return self._database.connect()

    def limit_memory(self, megabytes: int) -> None:
        """Limit the database's memory; it spills to disk beyond it."""
        self.connection.execute(f"SET memory_limit = '{megabytes}MB'")

    def one(self, query: str, parameters: object = None) -> tuple[Any, ...]:
        """`first_row` over the staging area."""
        return first_row(self.connection, query, parameters)

    def count_rows(self) -> None:
        """Count the rows of all tables; `insert` adds to that, no other statement does."""
        self._rows = dict(self.connection.execute(_ROWS_SQL).fetchall())

    def rows(self, table: str) -> int | None:
        """Number of rows of a table when they were counted; None before."""
        return None if self._rows is None else self._rows.get(table, 0)

    def may_have(self, *tables: str) -> bool:
        """Whether one of these tables may have rows: False only if none had when they were counted."""
        return any(self.rows(table) != 0 for table in tables)

    def observe(self, code: str, severity: str, count: int, message: str, effect: str) -> None:
        """Add a health line if `count` > 0."""
        if count:
            self.health.append(Observation(code, severity, count, message, effect))

    def intern_names(self, relation: str, column: str = "name") -> None:
        """Add every new name in `column` of the table or subquery `relation` to `names`."""
        self.connection.execute(
            "INSERT INTO names SELECT nextval('name_ids'), name "
            f"FROM (SELECT DISTINCT {column} AS name FROM {relation}) "
            "ANTI JOIN names USING (name) WHERE name IS NOT NULL"
        )

    def add_names(self, names: Sequence[str]) -> dict[str, int]:
        """Add names that are not in `names` yet; returns the row of each."""
        if not names:
            return {}
        rows = self.connection.execute(
            "INSERT INTO names SELECT nextval('name_ids'), unnest($names) RETURNING name, name_id",
            {"names": list(names)},
        ).fetchall()
        return dict(rows)

    def track(
        self,
        kind: str,
        *,
        process: str | None = None,
        thread: str | None = None,
        device: int | None = None,
        stream: str | None = None,
    ) -> int:
        """The number of a track, made on first use, and in table `tracks` after `write_tracks`.

        Device queues are identified by device and stream, all other tracks by process and thread.
        """
        key = (kind, device, stream) if kind == "device" else (kind, process, thread)
        if key not in self._tracks:
            number = self._tracks[key] = len(self._tracks)
            label = f"device {device} stream {stream}" if kind == "device" else f"thread {thread}"
            named = None if kind == "device" else thread
            self._unwritten.append((number, kind, process, named, device, stream, label))
        return self._tracks[key]

    def write_tracks(self) -> None:
        """Write the tracks made so far to table `tracks`; deriving does so for the last of them."""
        self.insert_rows("tracks", self._unwritten)
        self._unwritten.clear()

    def insert_rows(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        """Append rows of Python values, in the order of the table's columns, with one statement."""
        if rows:
            columns = [list(values) for values in zip(*rows, strict=True)]
            self.connection.execute(f"INSERT INTO {table} SELECT {', '.join(['unnest(?)'] * len(columns))}", columns)

    def add_args(self, query: str, connection: duckdb.DuckDBPyConnection | None = None) -> None:
        """Store arguments of events.

        Args:
            query: Returns (id, args), ascending by id.
            connection: Connection to run it on; None for that of the staging area.
        """
        target = str(self.folder / f"args-{self._args_files:05d}.parquet").replace("'", "''")
        # Arguments are distinct, so a dictionary is useless. Small row groups reuse their two buffers.
        options = f"({PARQUET}, DICTIONARY_SIZE_LIMIT 1, ROW_GROUP_SIZE 8192)"
        (connection or self.connection).execute(f"COPY ({query}) TO '{target}' {options}")
        self._args_files += 1

    def write_args(self, table: pa.Table) -> None:
        """Store arguments of events.

        Args:
            table: Columns `id`, ascending, and `args`.
        """
        connection = self.connection.cursor()
        connection.register("arguments", table)
        self.add_args("SELECT id, args FROM arguments", connection)
        connection.close()

    def insert(self, table: str, arrow: pa.Table) -> None:
        """Append an Arrow table with the columns of `table`, matched by name."""
        self.connection.register("inserted", arrow)
        self.connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM inserted")
        self.connection.unregister("inserted")
        if self._rows is not None:
            self._rows[table] = self._rows.get(table, 0) + len(arrow)

    def close(self) -> None:
        """Close the database; the folder stays."""
        self.connection.close()
        self._database.close()


def _half_of_the_cores() -> int:
    """Threads per statement: half of the cores, since two statements run at a time.

    That is faster than one statement after the other on all cores, and leaves no thread idle: DuckDB returns all free
    memory of the process to the system when one is idle for half a second.
    """
    return max(1, (os.cpu_count() or 1) // 2)
