"""DuckDB connections per thread for one trace."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from stepscope.model.errors import UserError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


class Connections:
    """One connection per thread to the same tables: DuckDB connections can't be shared by threads."""

    def __init__(self, first: duckdb.DuckDBPyConnection, views: Mapping[str, str]) -> None:
        self._first = first
        self._views = dict(views)
        self._tables: dict[str, pa.Table] = {}
        self._all = [first]
        self._of_thread = threading.local()
        self._of_thread.connection = first
        self._guard = threading.Lock()
        self._closed = False

    def here(self) -> duckdb.DuckDBPyConnection:
        """The connection of this thread.

        Raises:
            UserError: The trace is closed.
        """
        if self._closed:
            raise UserError("the trace is closed", hint="open it again")
        found: duckdb.DuckDBPyConnection | None = getattr(self._of_thread, "connection", None)
        if found is None:
            with self._guard:
                found = another(self._first, self._views)
                for name, table in self._tables.items():
                    found.register(name, table)
                self._all.append(found)
            self._of_thread.connection = found
        return found

    def register(self, name: str, table: pa.Table) -> None:
        """Make a table visible to queries of all threads."""
        here = self.here()
        with self._guard:
            self._tables[name] = table
            here.register(name, table)

    def unregister(self, name: str) -> None:
        """Let go of a table, unless the connections are closed."""
        if self._closed:
            return
        here = self.here()
        with self._guard:
            self._tables.pop(name, None)
            here.unregister(name)

    def interrupt(self) -> None:
        """Interrupt running queries of all threads."""
        for connection in tuple(self._all):
            connection.interrupt()

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        for connection in self._all:
            connection.close()


def another(connection: duckdb.DuckDBPyConnection, views: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """A new connection on which `views` replace tables by queries over the tables of schema `whole`."""
    cursor = connection.cursor()
    for name, query in views.items():
        cursor.execute(f'CREATE TEMP VIEW "{name}" AS {query.replace("whole.", "memory.main.")}')
    return cursor
