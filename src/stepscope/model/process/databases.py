"""Databases in memory, one after the other in an instance of DuckDB where the process keeps it.

An instance takes 13 ms to start and to end. When it ends, DuckDB returns all free memory of the process to the system,
which what comes next allocates again. An instance that is used again keeps empty tables that its databases start with:
to copy thirty of them takes 1 ms, to make them 7 ms.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stepscope.model.process.later import LaterTables

if TYPE_CHECKING:
    import duckdb

#: Name of each database in its instance.
WHOLE: Final = "whole"
#: Name of the one with its empty tables, which is there from the second use of an instance on.
_EMPTY: Final = "empty"


@dataclass(slots=True)
class _Instance:
    connection: duckdb.DuckDBPyConnection
    has_tables: bool = False


#: What an instance was started with, and the statements that make the tables of its databases.
_Kind = tuple[tuple[tuple[str, str], ...], tuple[str, ...]]
#: Instances without a database.
_KEPT: Final[dict[_Kind, list[_Instance]]] = {}
_MOST: Final[list[int]] = [0]


def keep_instances(number: int) -> None:
    """Keep up to so many instances of each kind from now on, once they are done with; 0 to end them."""
    _MOST[0] = number
    for instances in _KEPT.values():
        while len(instances) > number:
            instances.pop().connection.close()


class Database:
    """An empty database in memory, with as many connections as are asked for."""

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, str], tables: Sequence[str] = ()) -> None:
        """Make it in a kept instance that takes the settings, or a new one.

        Args:
            config: What an instance is started with.
            settings: What may differ between databases of an instance.
            tables: Statements that make the empty tables with which the database starts.
        """
        kind = (tuple(sorted(config.items())), tuple(tables))
        kept = _kept(kind, settings)
        found = kept or _started(config, settings)
        self._instance = found.connection
        #: Tables that queries have not named yet.
        self.later = LaterTables()
        #: Tables that are known to have no rows.
        self.empty: frozenset[str] = frozenset()
        self._instance.execute(f"ATTACH ':memory:' AS {WHOLE}")
        self._ending = weakref.finalize(self, _end, found, kind)
        self._ending.atexit = False
        if tables:
            _make(found, tables, again=kept is not None)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A new connection, whose statements are about this database."""
        connection = self._instance.cursor()
        connection.execute(f"USE {WHOLE}")
        return connection

    def close(self) -> None:
        """Free what it holds, once its connections are closed."""
        self._ending()


def _make(instance: _Instance, tables: Sequence[str], *, again: bool) -> None:
    """Make the tables of a database, in an instance that is used again by copying them."""
    for name in [WHOLE] if not again else [] if instance.has_tables else [_EMPTY]:
        if name == _EMPTY:
            instance.connection.execute(f"ATTACH ':memory:' AS {_EMPTY}")
        with instance.connection.cursor() as connection:
            connection.execute(f"USE {name}")
            for statement in tables:
                connection.execute(statement)
    if again:
        instance.has_tables = True
        instance.connection.execute(f"COPY FROM DATABASE {_EMPTY} TO {WHOLE} (SCHEMA)")


def _kept(kind: _Kind, settings: Mapping[str, str]) -> _Instance | None:
    import duckdb

    instances = _KEPT.get(kind, [])
    while instances:
        instance = instances.pop()
        try:
            _set(instance.connection, settings)
        except duckdb.Error:
            # One that has spilled can't spill elsewhere.
            instance.connection.close()
        else:
            return instance
    return None


def _started(config: Mapping[str, str], settings: Mapping[str, str]) -> _Instance:
    import duckdb

    connection = duckdb.connect(":memory:", config=dict(config))
    _set(connection, settings)
    return _Instance(connection)


def _set(instance: duckdb.DuckDBPyConnection, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        instance.execute(f"SET {name} = '" + value.replace("'", "''") + "'")


def _end(instance: _Instance, kind: _Kind) -> None:
    import duckdb

    kept = _KEPT.setdefault(kind, [])
    try:
        if len(kept) < _MOST[0]:
            instance.connection.execute(f"DETACH {WHOLE}")
            kept.append(instance)
            return
    except duckdb.Error:
        pass
    instance.connection.close()
