"""SQLite databases as DuckDB tables: the tables and columns that are there, as far as they can be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

import pyarrow as pa

from stepscope.store.staging import Staging

Kind = Literal["int", "real", "text"]

#: Columns to load, with what they hold.
Columns = Mapping[str, Kind]

_SQL: Final[dict[Kind, tuple[str, str, Any]]] = {
    # SQLite stores what it is given: numbers may lie there as text.
    "int": ("INTEGER", "BIGINT", pa.int64()),
    "real": ("REAL", "DOUBLE", pa.float64()),
    "text": ("TEXT", "VARCHAR", pa.string()),
}
_BATCH: Final = 100_000


@dataclass(slots=True)
class Database:
    """An open SQLite file.

    Attributes:
        path: The file.
        columns: Names of the columns by table, as spelled there.
        damage: Messages about tables that could not be read to their end.
    """

    path: Path
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if missing := _missing_bytes(self.path):
            self.damage.append(f"the last {missing} bytes are missing")
        try:
            with closing(self._connect()) as connection:
                tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                for (table,) in tables:
                    info = connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
                    self.columns[table] = tuple(row[1] for row in info)
        except sqlite3.Error as error:
            self.damage.append(str(error))

    def load(self, staging: Staging, table: str, wanted: Columns, name: str) -> int:
        """Copy columns of a table into the DuckDB table `name`, null where the file lacks them.

        Returns:
            Number of rows copied; 0 if there is no such table.
        """
        declared = ", ".join(f"{_quoted(column)} {_SQL[kind][1]}" for column, kind in wanted.items())
        staging.connection.execute(f"CREATE TABLE {name} ({declared})")
        if table not in self.columns:
            return 0
        present = set(self.columns[table])
        cells = [
            f"CAST({_quoted(column)} AS {_SQL[kind][0]})" if column in present else "NULL"
            for column, kind in wanted.items()
        ]
        schema = pa.schema([(column, _SQL[kind][2]) for column, kind in wanted.items()])
        done = 0
        try:
            with closing(self._connect()) as connection:
                cursor = connection.execute(f"SELECT {', '.join(cells)} FROM {_quoted(table)}")
                while rows := cursor.fetchmany(_BATCH):
                    arrays = [
                        pa.array(column, kind.type)
                        for column, kind in zip(zip(*rows, strict=True), schema, strict=True)
                    ]
                    staging.insert(name, pa.Table.from_arrays(arrays, schema=schema))
                    done += len(rows)
        except (sqlite3.Error, OverflowError) as error:
            self.damage.append(f"{table}: {error}")
        return done

    def rows(self, table: str, *wanted: str) -> list[tuple[Any, ...]]:
        """A small table's columns as rows; empty if it has not all of them."""
        if not set(wanted) <= set(self.columns.get(table, ())):
            return []
        try:
            with closing(self._connect()) as connection:
                names = ", ".join(_quoted(column) for column in wanted)
                return connection.execute(f"SELECT {names} FROM {_quoted(table)} LIMIT 100000").fetchall()
        except sqlite3.Error as error:
            self.damage.append(f"{table}: {error}")
            return []

    def observe(self, staging: Staging) -> None:
        """Say in health what could not be read."""
        for message in self.damage:
            staging.observe(
                "input-damaged", "error", 1, f"the database {self.path.name} is damaged ({message})",
                "what lies behind the damage is missing",
            )  # fmt: skip

    def _connect(self) -> sqlite3.Connection:
        # Immutable: no lock is taken and no journal is looked for, so that it works on read-only media.
        uri = f"file:{quote(str(self.path.resolve()))}?mode=ro&immutable=1"
        connection = sqlite3.connect(uri, uri=True)
        if self.damage:
            # SQLite refuses a file that is shorter than its header says, unless its schema may be repaired.
            connection.execute("PRAGMA writable_schema = ON")
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        return connection


def _missing_bytes(path: Path) -> int:
    """By how much a file is shorter than its header says (SQLite's file format, section 1.3)."""
    with path.open("rb") as file:
        header = file.read(100)
    page = int.from_bytes(header[16:18], "big")
    size = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    return max(0, size - path.stat().st_size)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
