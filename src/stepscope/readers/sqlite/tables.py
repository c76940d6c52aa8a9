"""Tables of an SQLite database, which may be damaged."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.model.sizes import SIZES
from stepscope.readers.sqlite.columns import CHUNK_ROWS, Columns, arrow_column
from stepscope.readers.sqlite.losses import Losses
from stepscope.readers.sqlite.pages import UnreadableError
from stepscope.readers.sqlite.whole import PagedTable
from stepscope.readers.untrusted import quoted_name

#: Errors that the library raises for damage: messages may quote names that are no UTF-8, and names with a NUL raise
#: `ValueError` in Python 3.10.
_FAILURES: Final = (sqlite3.Error, ValueError)

#: Virtual tables, which run code of an extension when they are read.
_VIRTUAL: Final = re.compile(rb"\s*CREATE\s+VIRTUAL", re.IGNORECASE)

#: Things that can be read from. Views are not: they run a query of the file's, which may never end.
_HOLDERS: Final = (b"table", b"view")

_FIRST_ROW: Final = -(2**63)
_LAST_ROW: Final = 2**63 - 1

#: Number of places of a sample, and rows at each.
_PLACES: Final = 64
_PLACE_ROWS: Final = 64
#: Rows fetched at a time: enough to make calls cheap, few enough to stay in the CPU's cache.
_BLOCK_ROWS: Final = 1 << 12


class SqliteTables:
    """The tables of a database, opened without writing, executing code or waiting for locks.

    Attributes:
        columns: Names of the columns by table, in order.
        damage: What could not be read.
        cut: Tables of which `small` has left out rows.
        losses: What was left out though nothing is damaged.
    """

    def __init__(self, path: Path, hint: str = "write the database again", label: str = "") -> None:
        """Open a database.

        Args:
            path: Its file.
            hint: The advice in errors.
            label: What errors call it, if it is not its user who knows that file.

        Raises:
            UnusableInputError: It is no database, or its list of tables can't be read.
        """
        self.damage: list[str] = []
        self.cut: list[str] = []
        self.losses = Losses()
        self._views: dict[str, str] = {}
        self._path = path
        self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        self._connection.text_factory = bytes
        try:
            self.columns = self._list_columns()
        except _FAILURES as error:
            self._connection.close()
            raise UnusableInputError(
                said("{label} can't be read as a database ({error})", label=label or path, error=_said(error)),
                hint=hint,
            ) from error

    def names(self) -> frozenset[str]:
        """Names of the tables."""
        return frozenset(self.columns)

    def rows(self, table: str) -> int:
        """The last row id, which in an export is the number of rows."""
        if not self._has(table):
            return 0
        try:
            [(last,)] = self._connection.execute(f"SELECT max(rowid) FROM {quoted_name(table)}").fetchall()
        except _FAILURES:
            return 1
        return last if isinstance(last, int) and last > 0 else 0

    def sample(self, table: str, columns: Columns) -> Iterator[pa.Table]:
        """Readable rows at places spread over a table; all rows of a small one."""
        last = self.rows(table)
        types = columns.types()
        present = [name for name in types if name in self.columns.get(table, ())]
        query = f"SELECT {', '.join(['rowid', *map(quoted_name, present)])} FROM {quoted_name(table)}"
        places, rows = min(_PLACES, -(-last // _PLACE_ROWS)), []
        for place in range(places):
            try:
                start = last * place // places
                rows += self._connection.execute(f"{query} WHERE rowid > ? LIMIT {_PLACE_ROWS}", [start]).fetchall()
            except _FAILURES:
                continue
        if rows:
            yield pa.Table.from_batches([_batch(rows, present, types, Losses(), table)])

    def scan(self, table: str, columns: Columns) -> Iterator[pa.Table]:
        """The rows of a table in chunks; after damage the scan continues at the next readable rows."""
        if not self._has(table):
            return
        self.losses.restart(table)
        types = columns.types()
        present = [name for name in types if name in self.columns[table]]
        batches: list[pa.RecordBatch] = []
        for batch in self._batches(table, present, types):
            batches.append(self.losses.finite(table, batch) if columns.floats else batch)
            if sum(part.num_rows for part in batches) >= CHUNK_ROWS:
                yield pa.Table.from_batches(batches)
                batches = []
        if batches:
            yield pa.Table.from_batches(batches)

    def _has(self, table: str) -> bool:
        """Whether there is such a table; a view in its place is noted."""
        if table in self._views:
            self.losses.unread[table] = self._views[table]
        return table in self.columns

    def _batches(self, table: str, present: list[str], types: dict[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Rows decoded from the file's pages as far as these are intact, the rest read by the library."""
        last = _FIRST_ROW - 1
        if not self.damage:
            paged = PagedTable(self._connection, self._path, table, self.losses)
            try:
                for batch in paged.batches({name: kind for name, kind in types.items() if name in present}):
                    yield _completed(batch, types)
                return
            except (UnreadableError, *_FAILURES):
                last = paged.last
            finally:
                paged.close()
        for rows in _gathered(self._rows(table, present, last + 1)):
            yield _batch(rows, present, types, self.losses, table)

    def small(self, table: str, *names: str) -> list[tuple[Any, ...]]:
        """Stored values of columns as rows, `SIZES.table_rows` at most; empty if the table lacks one of the columns."""
        if not self._has(table) or not set(names) <= set(self.columns[table]):
            return []
        rows = (row[1:] for block in self._rows(table, list(names)) for row in block)
        found = [
            tuple(value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in row)
            for row in islice(rows, SIZES.table_rows)
        ]
        if next(rows, None) is not None:
            self.cut.append(table)
        return found

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _list_columns(self) -> dict[str, tuple[str, ...]]:
        connection = self._connection
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except _FAILURES as error:
            # A database that was cut short, or whose list of tables is damaged, opens in this mode only.
            connection.execute("PRAGMA writable_schema = ON")
            self.damage.append(f"the database ({_said(error)})")
        columns: dict[str, tuple[str, ...]] = {}
        for _, kind, raw, sql in (row for rows in self._rows("sqlite_master", ["type", "name", "sql"]) for row in rows):
            if kind not in _HOLDERS or not isinstance(raw, bytes) or not isinstance(sql, bytes):
                continue
            name = raw.decode("utf-8", "replace")
            if kind == b"view" or _VIRTUAL.match(sql):
                self._views[name] = "a view" if kind == b"view" else "a virtual table"
            else:
                try:
                    info = connection.execute(f"PRAGMA table_info({quoted_name(name)})").fetchall()
                except _FAILURES as error:
                    self.damage.append(f"table {name} ({_said(error)})")
                    continue
                columns[name] = tuple(row[1].decode("utf-8", "replace") for row in info)
        if not columns:
            raise sqlite3.DatabaseError("its list of tables is damaged" if self.damage else "it has no tables")
        return columns

    def _rows(self, table: str, names: list[str], first: int = _FIRST_ROW) -> Iterator[list[tuple[Any, ...]]]:
        """Blocks of rows (rowid, ...) by ascending rowid, from a given one on.

        A block that fails is fetched again row by row up to the damage; after it the scan resumes at growing distances.
        """
        selected = ", ".join(["rowid", *map(quoted_name, names)])
        query = f"SELECT {selected} FROM {quoted_name(table)} WHERE rowid >= ? ORDER BY rowid"
        start, size, step = first, _BLOCK_ROWS, 1
        last = first - 1
        damage: Exception | None = None
        while start <= _LAST_ROW:
            try:
                cursor = self._connection.execute(query, [start])
                while rows := cursor.fetchmany(size):
                    if rows[0][0] <= last:
                        raise sqlite3.DatabaseError("rows repeat")
                    last, step = rows[-1][0], 1
                    yield rows
                break
            except _FAILURES as error:
                damage = error
                start = max(last, 0) + step
                if size == 1:
                    step *= 2
                size = 1
        if damage is not None:
            self.damage.append(f"table {table} ({_said(damage)})")


def _gathered(blocks: Iterator[list[tuple[Any, ...]]]) -> Iterator[list[tuple[Any, ...]]]:
    """Merge small blocks, which occur around damage."""
    rows: list[tuple[Any, ...]] = []
    for block in blocks:
        rows.extend(block)
        if len(rows) >= _BLOCK_ROWS:
            yield rows
            rows = []
    if rows:
        yield rows


def _batch(
    rows: list[tuple[Any, ...]], present: list[str], types: dict[str, pa.DataType], losses: Losses, table: str
) -> pa.RecordBatch:
    """Rows (rowid, *present) as columns of these types; nulls for the columns that are not present."""
    values = dict(zip(["rowid", *present], zip(*rows, strict=True), strict=True))
    arrays = [
        arrow_column(values[name], kind) if name in values else pa.nulls(len(rows), kind)
        for name, kind in types.items()
    ]
    for name, array in zip(types, arrays, strict=True):
        if name in values:
            losses.compare(table, name, values[name], array)
    return pa.record_batch(arrays, pa.schema(types))


def _completed(batch: pa.RecordBatch, types: dict[str, pa.DataType]) -> pa.RecordBatch:
    """The batch with null columns added for missing ones."""
    names = batch.schema.names
    arrays = [batch.column(name) if name in names else pa.nulls(len(batch), kind) for name, kind in types.items()]
    return pa.record_batch(arrays, pa.schema(types))


def _said(error: Exception) -> str:
    """An error's message on one line, without unprintable characters."""
    text = "its names are no text" if isinstance(error, UnicodeDecodeError) else str(error)
    return "".join(c if c.isprintable() else "?" for c in text)[:200]
