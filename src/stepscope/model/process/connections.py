"""DuckDB connections of a trace, one per thread, and their joint closing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from stepscope.model.errors import UserError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from stepscope.model.process.databases import Database

#: A question that begins between two interruptions hears of the second.
_AGAIN_SECONDS: Final = 0.05


class Connections:
    """One connection per thread to the same tables: DuckDB connections can't be shared by threads.

    Who closes them interrupts the questions of other threads and waits for their end: DuckDB can't close a connection
    that is in use, and files must not go while they are read.
    """

    def __init__(
        self,
        database: Database,
        views: Mapping[str, str],
        whole: Connections | None = None,
    ) -> None:
        """Connect this thread.

        Args:
            database: What holds the tables.
            views: What replaces tables on each connection: queries over the tables of `whole`, the database.
            whole: Connections of the trace that this one is a part of; when they are closed, these are.
        """
        self.database = database
        self._views = dict(views)
        self._whole = whole
        self._tables: dict[str, pa.Table] = {}
        self._first = self._connected()
        self._all = [self._first]
        self._of_thread = threading.local()
        self._of_thread.connection = self._first
        self._guard = threading.Lock()
        self._closed = False
        #: Connections on which questions are running, those of parts included, by question.
        self._running: dict[object, duckdb.DuckDBPyConnection] = {}
        self._ended = threading.Condition()

    def part_of(self, whole: Connections) -> None:
        """Close these when the connections of the whole trace are closed."""
        self._whole = whole

    @contextmanager
    def asking(
        self, query: str = "", connection: duckdb.DuckDBPyConnection | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for one question, which closing the trace waits for.

        Args:
            query: The question, whose tables are made if they have not been named before.
            connection: The connection; None for this thread's.

        Raises:
            UserError: The trace is closed, or was while the question ran.
        """
        question = object()
        levels = tuple(self._levels())
        try:
            for level in levels:
                level._start(question, connection or self._first)
            found = connection or self._here()
            for level in levels:
                level._start(question, found)
            self.database.later.make(found, query)
            yield found
        except Exception as error:
            if self.closed:
                raise _closed() from error
            raise
        finally:
            for level in levels:
                level._end(question)

    def check_open(self) -> None:
        """Raise if the trace is closed, although memory could still answer.

        Raises:
            UserError: The trace is closed.
        """
        if self.closed:
            raise _closed()

    @property
    def closed(self) -> bool:
        """Whether these connections, or those of the whole trace, are closed."""
        return any(level._closed for level in self._levels())

    def _levels(self) -> Iterator[Connections]:
        level: Connections | None = self
        while level is not None:
            yield level
            level = level._whole

    def _start(self, question: object, connection: duckdb.DuckDBPyConnection) -> None:
        with self._ended:
            if self._closed:
                raise _closed()
            self._running[question] = connection

    def _end(self, question: object) -> None:
        with self._ended:
            self._running.pop(question, None)
            self._ended.notify_all()

    def _here(self) -> duckdb.DuckDBPyConnection:
        found: duckdb.DuckDBPyConnection | None = getattr(self._of_thread, "connection", None)
        if found is None:
            with self._guard:
                found = self._connected()
                for name, table in self._tables.items():
                    found.register(name, table)
                self._all.append(found)
            self._of_thread.connection = found
        return found

    def _connected(self) -> duckdb.DuckDBPyConnection:
        connection = self.database.connect()
        for name, query in self._views.items():
            self.database.later.make(connection, query)
            connection.execute(f'CREATE TEMP VIEW "{name}" AS {query}')
        return connection

    def register(self, name: str, table: pa.Table) -> None:
        """Make a table visible to queries of all threads."""
        with self.asking() as here, self._guard:
            self._tables[name] = table
            here.register(name, table)

    def unregister(self, name: str) -> None:
        """Let go of a table, unless the connections are closed."""
        if self.closed:
            return
        with self.asking() as here, self._guard:
            self._tables.pop(name, None)
            here.unregister(name)

    def interrupt(self) -> None:
        """Interrupt running queries of all threads."""
        for connection in tuple(self._all):
            connection.interrupt()

    def close(self) -> None:
        """Close all connections, once the questions that are running have ended, which are interrupted."""
        with self._ended:
            self._closed = True
            while self._running:
                for connection in tuple(self._running.values()):
                    connection.interrupt()
                self._ended.wait(_AGAIN_SECONDS)
        for connection in self._all:
            connection.close()


def _closed() -> UserError:
    return UserError("the trace is closed", hint="open it again")
