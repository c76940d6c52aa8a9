"""Empty databases: that of the last recording read stays open where the process keeps it.

DuckDB returns all free memory of the process to the system when a database is closed, and analyses allocate it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import duckdb

_KEPT: Final[list[duckdb.DuckDBPyConnection]] = []
_KEEPING: Final[list[bool]] = [False]


def keep_last(wanted: bool) -> None:
    """Keep the last emptied database open from now on, or close it and all later ones."""
    _KEEPING[0] = wanted
    if not wanted:
        _close()


def keeps_last() -> bool:
    """Whether an emptied database is worth keeping."""
    return _KEEPING[0]


def done_with(connection: duckdb.DuckDBPyConnection) -> None:
    """Close an emptied database, or keep it instead of the one kept so far."""
    if not _KEEPING[0]:
        connection.close()
        return
    _close()
    _KEPT.append(connection)


def _close() -> None:
    while _KEPT:
        _KEPT.pop().close()
