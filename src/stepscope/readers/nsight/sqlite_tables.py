"""An export in an SQLite database, which may be damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stepscope.model.errors import UnusableInputError
from stepscope.readers.nsight.tables import CHUNK_ROWS, Columns, arrow_column

MAGIC: Final = b"SQLite format 3\x00"

_FIRST_ROW: Final = -(2**63)
_LAST_ROW: Final = 2**63 - 1

#: Rows fetched at a time: enough to make the calls cheap, few enough to stay in the processor's cache.
_BLOCK_ROWS: Final = 1 << 12


class SqliteTables:
    """The tables of a database, opened so that nothing is written, executed or waited for.

    Attributes:
        damage: What could not be read.
    """

    def __init__(self, path: Path) -> None:
        """Open `path`.

        Raises:
            UnusableInputError: It is no database, or its list of tables can't be read.
        """
        self.damage: list[str] = []
        self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        self._connection.text_factory = bytes
        try:
            self._columns = self._list_columns()
        except sqlite3.Error as error:
            self._connection.close()
            raise UnusableInputError(
                f"{path} can't be read as a database ({error})",
                hint="export the report again with `nsys export --type sqlite`",
            ) from error

    def names(self) -> frozenset[str]:
        """Names of the tables."""
        return frozenset(self._columns)

    def rows(self, table: str) -> int:
        """The last row's number, which for an export is the number of rows."""
        if table not in self._columns:
            return 0
        try:
            [(last,)] = self._connection.execute(f"SELECT max(rowid) FROM {_quoted(table)}").fetchall()
        except sqlite3.Error:
            return 1
        return last if isinstance(last, int) and last > 0 else 0

    def scan(self, table: str, columns: Columns) -> Iterator[pa.Table]:
        """The rows of a table in chunks; past a damaged part the scan goes on where rows can be read again."""
        if table not in self._columns:
            return
        types = columns.types()
        present = [name for name in types if name in self._columns[table]]
        schema = pa.schema(types)
        batches: list[pa.RecordBatch] = []
        size = 0
        for rows in self._rows(table, present):
            values = dict(zip(["rowid", *present], zip(*rows, strict=True), strict=True))
            arrays = [
                arrow_column(values[name], kind) if name in values else pa.nulls(len(rows), kind)
                for name, kind in types.items()
            ]
            batches.append(pa.record_batch(arrays, schema))
            size += len(rows)
            if size >= CHUNK_ROWS:
                yield pa.Table.from_batches(batches)
                batches, size = [], 0
        if batches:
            yield pa.Table.from_batches(batches).combine_chunks()

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _list_columns(self) -> dict[str, frozenset[str]]:
        connection = self._connection
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        try:
            found = connection.execute(query).fetchall()
        except sqlite3.DatabaseError as error:
            # A database that was cut short, or whose list of tables is damaged, opens in this mode only.
            connection.execute("PRAGMA writable_schema = ON")
            found = connection.execute(query).fetchall()
            self.damage.append(f"the database ({error})")
        columns: dict[str, frozenset[str]] = {}
        for (raw,) in found:
            name = raw.decode("utf-8", "replace")
            try:
                info = connection.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
            except sqlite3.DatabaseError as error:
                self.damage.append(f"table {name} ({error})")
                continue
            columns[name] = frozenset(row[1].decode("utf-8", "replace") for row in info)
        return columns

    def _rows(self, table: str, names: list[str]) -> Iterator[list[tuple[Any, ...]]]:
        """Blocks of rows (rowid, ...) with ascending rowids.

        A block that fails is fetched again row by row up to the damage; behind it the scan is taken up again at
        growing distances.
        """
        selected = ", ".join(["rowid", *map(_quoted, names)])
        query = f"SELECT {selected} FROM {_quoted(table)} WHERE rowid >= ? ORDER BY rowid"
        start, size, step = _FIRST_ROW, _BLOCK_ROWS, 1
        last = _FIRST_ROW
        damage: sqlite3.Error | None = None
        while start <= _LAST_ROW:
            try:
                cursor = self._connection.execute(query, [start])
                while rows := cursor.fetchmany(size):
                    if rows[0][0] <= last:
                        raise sqlite3.DatabaseError("rows repeat")
                    last, step = rows[-1][0], 1
                    yield rows
                break
            except sqlite3.Error as error:
                damage = error
                start = max(last, 0) + step
                if size == 1:
                    step *= 2
                size = 1
        if damage is not None:
            self.damage.append(f"table {table} ({damage})")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
