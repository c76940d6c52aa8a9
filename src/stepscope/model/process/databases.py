"""Databases in memory, one after the other in an instance of DuckDB where the process keeps it.

An instance takes 13 ms to start and to end. When it ends, DuckDB returns all free memory of the process to the system,
which what comes next allocates again.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import duckdb

#: Name of each database in its instance.
WHOLE: Final = "whole"
#: Instances without a database, by what they were started with.
_KEPT: Final[dict[tuple[tuple[str, str], ...], list[duckdb.DuckDBPyConnection]]] = {}
_MOST: Final[list[int]] = [0]


def keep_instances(number: int) -> None:
    """Keep up to so many instances of each kind from now on, once they are done with; 0 to end them."""
    _MOST[0] = number
    for instances in _KEPT.values():
        while len(instances) > number:
            instances.pop().close()


class Database:
    """An empty database in memory, with as many connections as are asked for."""

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, str]) -> None:
        """Make it in a kept instance that takes the settings, or a new one.

        Args:
            config: What an instance is started with.
            settings: What may differ between databases of an instance.
        """
        kind = tuple(sorted(config.items()))
        self._instance = _kept(kind, settings) or _started(config, settings)
        self._instance.execute(f"ATTACH ':memory:' AS {WHOLE}")
        self._ending = weakref.finalize(self, _end, self._instance, kind)
        self._ending.atexit = False

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A new connection, whose statements are about this database."""
        connection = self._instance.cursor()
        connection.execute(f"USE {WHOLE}")
        return connection

    def close(self) -> None:
        """Free what it holds, once its connections are closed."""
        self._ending()


def _kept(kind: tuple[tuple[str, str], ...], settings: Mapping[str, str]) -> duckdb.DuckDBPyConnection | None:
    import duckdb

    instances = _KEPT.get(kind, [])
    while instances:
        instance = instances.pop()
        try:
            _set(instance, settings)
        except duckdb.Error:
            # One that has spilled can't spill elsewhere.
            instance.close()
        else:
            return instance
    return None


def _started(config: Mapping[str, str], settings: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    import duckdb

    instance = duckdb.connect(":memory:", config=dict(config))
    _set(instance, settings)
    return instance


def _set(instance: duckdb.DuckDBPyConnection, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        instance.execute(f"SET {name} = '" + value.replace("'", "''") + "'")


def _end(instance: duckdb.DuckDBPyConnection, kind: tuple[tuple[str, str], ...]) -> None:
    import duckdb

    kept = _KEPT.setdefault(kind, [])
    try:
        if len(kept) < _MOST[0]:
            instance.execute(f"DETACH {WHOLE}")
            kept.append(instance)
            return
    except duckdb.Error:
        pass
    instance.close()
