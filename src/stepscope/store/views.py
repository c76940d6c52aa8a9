"""Canonical tables as views over the Parquet files of stored recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepscope.model.schema import TableSchema
from stepscope.model.tables import EVENTS, KERNELS, OP_INPUTS
from stepscope.store.activities import ACTIVITIES
from stepscope.store.beside import AddsRows
from stepscope.store.inputs import INPUT_CALLS, INPUT_TEXTS, op_inputs_sql
from stepscope.store.layout import (
    ARGS_GLOB,
    EVENTS_GLOB,
    PLAIN_TABLES,
    SPAN_COLUMNS,
    SQL_TYPES,
    columns_sql,
    stored_columns,
)

if TYPE_CHECKING:
    import duckdb

#: Tables stored in a file of another name, which holds more columns.
_FILES: Final = {KERNELS.name: ACTIVITIES}


def create_views(
    connection: duckdb.DuckDBPyConnection,
    stores: Mapping[int, Path],
    beside: Mapping[int, Sequence[AddsRows]] | None = None,
) -> None:
    """Define every canonical table as a view over the stores' files."""
    for table in PLAIN_TABLES:
        parts = []
        for rank, path in sorted(stores.items()):
            parts += _rows(path, _FILES.get(table.name, table), _columns(table, rank))
            for one in (beside or {}).get(rank, ()):
                parts += one.rows(table, rank, path)
        _define(connection, table, parts)
    events = " UNION ALL ".join(_events_sql(rank, path) for rank, path in sorted(stores.items()))
    connection.execute(f"CREATE VIEW events AS {events}")
    inputs = [_inputs_sql(rank, path) for rank, path in sorted(stores.items()) if _path(path, INPUT_CALLS).exists()]
    _define(connection, OP_INPUTS, inputs)
    if len(stores) == 1:
        [(rank, path)] = stores.items()
        spans = ", ".join(f"{rank}::INTEGER AS rank" if name == "rank" else name for name in SPAN_COLUMNS)
        connection.execute(f"CREATE VIEW spans AS SELECT {spans} FROM {_files(path, EVENTS_GLOB)}")
        _define(connection, ACTIVITIES, _rows(path, ACTIVITIES, _columns(ACTIVITIES, rank)))
        connection.execute(f"CREATE VIEW names AS SELECT * FROM {_file(path / 'names.parquet')}")
        for table in (INPUT_CALLS, INPUT_TEXTS):
            _define(connection, table, _rows(path, table, "*"))


def _define(connection: duckdb.DuckDBPyConnection, table: TableSchema, parts: Sequence[str]) -> None:
    """Define a table as a view over its parts; without any as an empty one, which is planned sooner than a view."""
    if parts:
        connection.execute(f'CREATE VIEW "{table.name}" AS {" UNION ALL ".join(parts)}')
    else:
        connection.execute(f'CREATE TABLE "{table.name}" ({columns_sql(table.columns)})')


def _events_sql(rank: int, store: Path) -> str:
    args = sorted(store.glob(ARGS_GLOB))
    sources = {"rank": f"{rank}::INTEGER AS rank", "name": "n.name"}
    sources["args"] = "a.args" if args else "NULL::VARCHAR AS args"
    columns = ", ".join(sources.get(name, f"e.{name}") for name in EVENTS.names)
    return (
        f"SELECT {columns} FROM {_files(store, EVENTS_GLOB)} e "
        f"JOIN {_file(store / 'names.parquet')} n USING (name_id) "
        + (f"LEFT JOIN {_file(*args)} a ON a.id = e.id" if args else "")
    )


def _inputs_sql(rank: int, store: Path) -> str:
    inputs = op_inputs_sql(_stored(store, INPUT_CALLS), _stored(store, INPUT_TEXTS))
    return f"SELECT {_columns(OP_INPUTS, rank)} FROM ({inputs})"


def _rows(store: Path, table: TableSchema, columns: str) -> list[str]:
    """A SELECT statement of a stored table's rows; none if it has no file."""
    file = _path(store, table)
    return [f"SELECT {columns} FROM {_file(file)}"] if file.exists() else []


def _stored(store: Path, table: TableSchema) -> str:
    """The relation that holds a stored table."""
    file = _path(store, table)
    if file.exists():
        return _file(file)
    columns = ", ".join(f'NULL::{SQL_TYPES[column.type]} AS "{column.name}"' for column in stored_columns(table))
    return f"(SELECT {columns} WHERE false)"


def _path(store: Path, table: TableSchema) -> Path:
    return store / f"{table.name}.parquet"


def _columns(table: TableSchema, rank: int) -> str:
    """SELECT list of a stored table, adding the rank, which is not in the file.

    One flat SELECT per view: views are planned at each use, and nested ones take longer.
    """
    return ", ".join(f"{rank}::INTEGER AS rank" if name == "rank" else f'"{name}"' for name in table.names)


def _files(store: Path, pattern: str) -> str:
    return _file(*sorted(store.glob(pattern)))


def _file(*paths: Path) -> str:
    quoted = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{quoted}])"
