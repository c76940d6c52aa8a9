"""An export being written: an SQLite database whose tables are made when their first row comes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from stepscope.simulate.writers.nsight_schema import create_sql, width


class ExportDatabase:
    """Takes rows in the order of each table's columns; equal rows give equal bytes."""

    def __init__(self, path: Path, first_string: int = 0) -> None:
        """Open a new or existing file; strings get ids from ``first_string`` on."""
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("BEGIN")
        self._strings: dict[str, int] = {}
        self._first_string = first_string
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.counts: Counter[str] = Counter()

    def text(self, value: str) -> int:
        """The id of a string in ``StringIds``."""
        number = self._strings.get(value)
        if number is None:
            number = self._strings[value] = self._first_string + len(self._strings)
            self.table("StringIds").append((number, value))
        return number

    def table(self, name: str) -> list[tuple[Any, ...]]:
        """The list to append a table's further rows to."""
        return self.rows.setdefault(name, [])

    def flush(self) -> None:
        """Write what has been appended."""
        waiting = {name: rows for name, rows in self.rows.items() if rows}
        # Before the rows, so that the list of tables lies together.
        for name in [name for name in waiting if name not in self.counts]:
            self._connection.execute(create_sql(name))
        for name, rows in waiting.items():
            marks = ", ".join("?" * width(name))
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
            self._connection.execute(create_sql(name).replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
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
