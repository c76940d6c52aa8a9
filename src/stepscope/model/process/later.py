"""Tables of a database that are made when a query first names them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import duckdb

#: What lists all tables, or reads one whose name it computes.
_ANY: Final = re.compile(r"\b(show|describe|pragma\w*|information_schema|duckdb_\w+|pg_\w+|sqlite_\w+|query\w*)\b")


class LaterTables:
    """Statements that make tables, each run before the first query that may be about its table.

    To make thirty views over files takes 15 ms, and a question is about one or two.
    """

    def __init__(self) -> None:
        self._statements: dict[str, Callable[[], str]] = {}
        self._guard = threading.Lock()

    def add(self, statements: Mapping[str, Callable[[], str]]) -> None:
        """Add tables by name, which must be in small letters, each with what returns its statement."""
        self._statements.update(statements)

    def make(self, connection: duckdb.DuckDBPyConnection, query: str | None = None) -> None:
        """Make the tables that occur in a query, or all of them for None; tables of other queries may be among them."""
        if not self._statements:
            return
        text = None if query is None else query.lower()
        with self._guard:
            every = text is None or _ANY.search(text) is not None
            for name in [name for name in self._statements if every or (text is not None and name in text)]:
                connection.execute(self._statements[name]())
                del self._statements[name]
