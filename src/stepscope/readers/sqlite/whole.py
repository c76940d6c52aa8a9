"""Read a table directly from its pages, much faster than the library returns rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stepscope.readers.sqlite.cells import Cells, count_cells
from stepscope.readers.sqlite.columns import arrow_column, as_text
from stepscope.readers.sqlite.losses import Losses
from stepscope.readers.sqlite.pages import Leaves, PageFile, UnreadableError
from stepscope.readers.untrusted import quoted_name

#: Bytes of pages read at a time: some 50,000 rows.
_BYTES_AT_ONCE: Final = 8 << 20


class PagedTable:
    """The rows of one table.

    Attributes:
        last: Id of the last row returned; before the first one a number below all ids.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, table: str, losses: Losses | None = None) -> None:
        self.last = -(2**63) - 1
        self._connection = connection
        self._path = path
        self._table = table
        self._file: PageFile | None = None
        self._losses = losses or Losses()

    def close(self) -> None:
        """Release the file."""
        if self._file is not None:
            self._file.close()

    def batches(self, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The columns `wanted` of all rows, in order.

        Raises:
            UnreadableError: The table is damaged, or of a kind not supported here; rows up to `last` are returned.
            sqlite3.Error: The library can't find the table.
        """
        [(root,)] = self._connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = CAST(? AS TEXT)", [self._table]
        ).fetchall()
        positions, rowid = self._layout()
        file = self._file = PageFile.open(self._path)
        chosen = {name: positions[name] for name in wanted}
        for leaves in file.leaves(root, max(1, _BYTES_AT_ONCE // file.size)):
            try:
                cells = Cells.of(leaves, sorted(chosen.values()))
                if cells.rowid.size and int(cells.rowid[0]) <= self.last:
                    raise UnreadableError("its rows")
                columns = [_column(cells, chosen[name], kind, name == rowid) for name, kind in wanted.items()]
                batch = pa.record_batch(columns, pa.schema(dict(wanted)))
                self.last = int(cells.rowid[-1]) if cells.rowid.size else self.last
            except UnreadableError:
                batch = self._from_library(leaves, wanted)
            yield batch

    def _layout(self) -> tuple[dict[str, int], str | None]:
        """Positions of the columns, and the column that is the row id; None if there is none."""
        info = self._connection.execute(f"PRAGMA table_xinfo({quoted_name(self._table)})").fetchall()
        rows = [(_text(name), _text(kind), default, key, hidden) for _, name, kind, _, default, key, hidden in info]
        if any(hidden or default is not None for *_, default, _, hidden in rows):
            raise UnreadableError("columns that are not stored")
        keys = [(name, kind.upper()) for name, kind, _, key, _ in rows if key]
        # Other kinds of keys have an index.
        indexes = self._connection.execute(f"PRAGMA index_list({quoted_name(self._table)})").fetchall()
        indexed = any(_text(origin) == "pk" for _, _, _, origin, _ in indexes)
        rowid = keys[0][0] if len(keys) == 1 and keys[0][1] == "INTEGER" and not indexed else None
        return {name: position for position, (name, *_) in enumerate(rows)}, rowid

    def _from_library(self, leaves: Leaves, wanted: Mapping[str, pa.DataType]) -> pa.RecordBatch:
        """Rows of pages with long values or values of unexpected types, read by SQLite itself."""
        count = count_cells(leaves)
        names = ", ".join(["rowid", *map(quoted_name, wanted)])
        rows = self._connection.execute(
            f"SELECT {names} FROM {quoted_name(self._table)} WHERE rowid > ? ORDER BY rowid LIMIT {count}",
            [max(self.last, -(2**63))],
        ).fetchall()
        if len(rows) != count or not rows:
            raise UnreadableError("its rows")
        self.last = rows[-1][0]
        values = list(zip(*rows, strict=True))[1:]
        columns = [arrow_column(column, kind) for column, kind in zip(values, wanted.values(), strict=True)]
        for name, stored, read in zip(wanted, values, columns, strict=True):
            self._losses.compare(self._table, name, stored, read)
        return pa.record_batch(columns, pa.schema(dict(wanted)))


def _column(cells: Cells, position: int, kind: pa.DataType, is_rowid: bool) -> pa.Array:
    if kind == pa.int64():
        return cells.integers(position, is_rowid)
    if kind == pa.float64():
        return cells.reals(position)
    values = cells.bytes(position, text=kind == pa.string())
    return as_text(values) if kind == pa.string() else values


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
