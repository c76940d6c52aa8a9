"""Prepared statements that run over one chunk after another.

Planning a statement takes DuckDB 1 to 20 ms, as long as running it over a chunk.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa


class _Shown:
    """An Arrow stream of the current table; later tables have the same columns."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Statements:
    """Prepared statements of one connection, and the tables they read."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._shown: dict[str, _Shown] = {}
        self._planned: dict[str, str] = {}

    def show(self, name: str, table: pa.Table) -> None:
        """Register a table under a name, with the columns of the first table of that name.

        Statements about more than one of these names do not know which is the smaller one.
        """
        if name in self._shown:
            self._shown[name].table = table
        else:
            self._shown[name] = _Shown(table)
            self.connection.register(name, self._shown[name])

    def run(self, statement: str) -> None:
        """Run a statement and discard its result."""
        self.rows(statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The result of a statement as rows."""
        return self.connection.execute(self._execute(statement)).fetchall()

    def table(self, statement: str) -> pa.Table:
        """The result of a statement, each column in one segment."""
        return self.connection.sql(self._execute(statement)).to_arrow_table().combine_chunks()

    def _execute(self, statement: str) -> str:
        name = self._planned.get(statement)
        if name is None:
            name = f"planned_{len(self._planned)}"
            self.connection.execute(f"PREPARE {name} AS {statement}")
            self._planned[statement] = name
        return f"EXECUTE {name}"
