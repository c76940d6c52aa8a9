"""An export being written: an SQLite database whose tables are made when their first row comes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_TYPES: Final = {"$": "TEXT", "%": "REAL"}


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables of an export.

    A column is an integer that may be missing; ``!`` after its name says it may not, ``$`` that it is text, ``%`` that
    it is a real number and ``@`` that it is the key.

    Attributes:
        tables: columns of each table, in a text.
        strings: name of the table of strings, of columns id and value.
        others: columns of tables without an entry.
    """

    tables: Mapping[str, str]
    strings: str
    others: str = "id@ name$"

    def columns(self, table: str) -> list[str]:
        """Columns of a table, with what is said of them."""
        return self.tables.get(table, self.others).split()

    def create_sql(self, table: str) -> str:
        """The statement that makes a table."""
        # Laid out as Nsight's exporter does: readers may look for names in a file's first pages.
        return f"CREATE TABLE {table} (\n{','.join(map(_declared, self.columns(table)))}\n)"


def _declared(column: str) -> str:
    name = column.rstrip("!@$%")
    kind = next((kind for part, kind in _TYPES.items() if part in column), "INTEGER")
    rest = "NOT NULL   PRIMARY KEY" if "@" in column else "NOT NULL" if "!" in column else ""
    quoted = f'"{name}"' if name == "end" else name
    return f"\n    {quoted:<27} {kind:<9} {rest:<24}"


class ExportDatabase:
    """Takes rows in the order of each table's columns; equal rows give equal bytes."""

    def __init__(self, path: Path, schema: Schema, first_string: int = 0) -> None:
        """Open a new or existing file; strings get ids from ``first_string`` on."""
        self._schema = schema
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("BEGIN")
        self._strings: dict[str, int] = {}
        self._first_string = first_string
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.counts: Counter[str] = Counter()

    def text(self, value: str) -> int:
        """The id of a string in the table of strings."""
        number = self._strings.get(value)
        if number is None:
            number = self._strings[value] = self._first_string + len(self._strings)
            self.table(self._schema.strings).append((number, value))
        return number

    def table(self, name: str) -> list[tuple[Any, ...]]:
        """The list to append a table's further rows to."""
        return self.rows.setdefault(name, [])

    def flush(self) -> None:
        """Write what has been appended."""
        waiting = {name: rows for name, rows in self.rows.items() if rows}
        # Before the rows, so that the list of tables lies together.
        for name in [name for name in waiting if name not in self.counts]:
            self._connection.execute(self._schema.create_sql(name))
        for name, rows in waiting.items():
            marks = ", ".join("?" * len(self._schema.columns(name)))
            self._connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
            self.counts[name] += len(rows)
            rows.clear()

    def merge(self, other: Path) -> None:
        """Add the rows of another export whose strings are the same or new."""
        self._connection.execute("COMMIT")
        self._connection.execute("ATTACH DATABASE ? AS other", [str(other)])
        self._connection.execute("BEGIN")
        tables = self._connection.execute("SELECT name FROM other.sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in tables:
            self._connection.execute(
                self._schema.create_sql(name).replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS")
            )
            self._connection.execute(f"INSERT OR IGNORE INTO {name} SELECT * FROM other.{name}")
        self._connection.execute("COMMIT")
        self._connection.execute("DETACH DATABASE other")
        self._connection.execute("BEGIN")

    def close(self) -> None:
        """Write the rest and release the file."""
        self.flush()
        self._connection.execute("COMMIT")
        self._connection.close()

    def abandon(self) -> None:
        """Release the file as it is."""
        self._connection.close()
