"""Load tables of SQLite databases into DuckDB: existing tables and columns, as far as they can be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.model.sizes import SIZES
from stepscope.readers.ascend.vocabulary import NONE_IDS
from stepscope.readers.sqlite.columns import Columns as Wanted
from stepscope.readers.sqlite.logs import logs_beside, observe_logs
from stepscope.readers.sqlite.tables import SqliteTables
from stepscope.readers.untrusted import quoted_name
from stepscope.store.staging import Staging

#: Types of columns. An `index` is a small number, such as that of a device; of `int` and `index` the numbers that say
#: "none" become null. An `amount` was measured: none is below 0 or as large as 64 bits allow.
Kind = Literal["int", "index", "amount", "real", "text"]

#: Columns to load, with their types.
Columns = Mapping[str, Kind]

_TYPES: Final[dict[Kind, str]] = {
    "int": "BIGINT",
    "index": "INTEGER",
    "amount": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
}
_WHOLE: Final = ("int", "index", "amount")
#: SQL for the duration of a row; null if it is no number of 64 bits.
DURATION: Final = 'try({row}."endNs" - {row}."startNs")'
#: The place of work whose thread, stream or group is not recorded.
NOWHERE: Final = "unknown"

#: The largest ones: devices, planes and ranks are counted in 32 bits, bytes in 64.
_LARGEST: Final[dict[Kind, int]] = {"index": 2**31 - 1, "amount": 2**63 - 2}


class AscendDatabase:
    """An open SQLite file.

    Attributes:
        path: The file.
        columns: Names of the columns by table, as spelled there.
        damage: Messages about what could not be read.
        untimed: Number of rows without a time, by table of events or samples.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns: dict[str, tuple[str, ...]] = {}
        self.damage: list[str] = []
        self.untimed: dict[str, int] = {}
        self._tables: SqliteTables | None = None
        if missing := _missing_bytes(path):
            self.damage.append(said("the last {missing} bytes are missing", missing=missing))
        try:
            self._tables = SqliteTables(path)
            self.columns = self._tables.columns
        except UnusableInputError as error:
            self.damage.append(error.message)

    def load(
        self, staging: Staging, table: str, wanted: Columns, name: str, key: str | None = None, time: str | None = None
    ) -> int:
        """Copy columns of a table into the DuckDB table `name`, null where the file lacks them.

        Args:
            staging: Where to.
            table: The file's table.
            wanted: Its columns, and their types.
            name: The table to make.
            key: Key column; in a damaged file repeated keys become null.
            time: Column without which a row is no event, or no sample: rows without it are counted.

        Returns:
            Number of rows copied; 0 if there is no such table.
        """
        declared = ", ".join(f"{quoted_name(column)} {_TYPES[kind]}" for column, kind in wanted.items())
        staging.connection.execute(f"CREATE TABLE {name} ({declared})")
        ints = tuple(c for c, kind in wanted.items() if kind in _WHOLE)
        reals, texts = (tuple(c for c, kind in wanted.items() if kind == k) for k in ("real", "text"))
        done = untimed = 0
        if self._tables is not None:
            for chunk in self._tables.scan(table, Wanted(ints=ints, floats=reals, texts=texts)):
                numbers = self._numbers(table, chunk, wanted)
                staging.insert(name, numbers)
                done += numbers.num_rows
                untimed += numbers.column(time).null_count if time else 0
        if time:
            self.untimed[table] = untimed
        if key is not None and staging.one(f'SELECT count("{key}") > count(DISTINCT "{key}") FROM {name}') == (True,):
            staging.connection.execute(
                f'UPDATE {name} SET "{key}" = NULL WHERE "{key}" IS NOT NULL '
                f'AND rowid NOT IN (SELECT min(rowid) FROM {name} GROUP BY "{key}")'
            )
        return done

    def _numbers(self, table: str, chunk: pa.Table, wanted: Columns) -> pa.Table:
        """A chunk with nulls in place of numbers that say "none", and of those that are no index or no amount."""
        import pyarrow.compute as pc

        none = pa.array(NONE_IDS, pa.int64())
        for name, kind in wanted.items():
            if kind not in _WHOLE:
                continue
            column: Any = chunk.column(name)
            absent: Any = pc.is_in(column, none if kind != "amount" else none[:0])
            if kind != "int":
                outside = pc.or_(pc.less(column, 0), pc.greater(column, _LARGEST[kind]))
                wrong: Any = pc.and_not(outside, absent)
                absent = pc.or_(absent, pc.fill_null(wrong, False))
                found = pc.sum(wrong).as_py()
                if found and self._tables is not None:
                    self._tables.losses.unfit[table, name] += found
            if pc.any(absent).as_py():
                column = pc.if_else(absent, pa.scalar(None, pa.int64()), column)
                chunk = chunk.set_column(chunk.column_names.index(name), name, column)
        return chunk

    def rows(self, table: str, *wanted: str) -> list[tuple[Any, ...]]:
        """Rows of a table, `SIZES.table_rows` at most; empty if it lacks one of the columns."""
        return [] if self._tables is None else self._tables.small(table, *wanted)

    @property
    def is_whole(self) -> bool:
        """Whether nothing that has been read so far was damaged, and no changes lie in a log."""
        damaged = self.damage or self._tables is None or self._tables.damage or self._tables.cut
        return not damaged and not logs_beside(self.path)

    def close(self) -> None:
        """Release the file."""
        if self._tables is not None:
            self._tables.close()

    def observe(self, staging: Staging) -> None:
        """Report in health what could not be read."""
        for message in [*self.damage, *(self._tables.damage if self._tables is not None else ())]:
            staging.observe(
                "input-damaged", "error", 1,
                said("the database {name} is damaged ({message})", name=self.path.name, message=message),
                "what lies behind the damage is missing",
            )  # fmt: skip
        for table in dict.fromkeys(self._tables.cut if self._tables is not None else ()):
            staging.observe(
                "file-unreadable", "warning", 1,
                said("{table} of {name} has more than {table_rows:,} rows", table=table, name=self.path.name,
                     table_rows=SIZES.table_rows), "those after them are missing",
            )  # fmt: skip
        for table, untimed in self.untimed.items():
            staging.observe(
                "events-untimed", "warning", untimed, said("rows of {table} have no number as their time", table=table),
                "they are missing from every number; the file may be damaged",
            )  # fmt: skip
        if self._tables is not None:
            self._tables.losses.observe(staging, self.path.name)
        observe_logs(staging, self.path)


def _missing_bytes(path: Path) -> int:
    """Number of bytes that a file lacks according to its header (SQLite's file format, section 1.3)."""
    with path.open("rb") as file:
        header = file.read(100)
    page = int.from_bytes(header[16:18], "big")
    size = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    return max(0, size - path.stat().st_size)
