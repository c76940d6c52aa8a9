"""Canonical tables as views over the Parquet files of stored recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Final

from stepscope.model.schema import TableSchema
from stepscope.model.tables import DEVICES, EVENTS, KERNELS, OP_INPUTS
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
from stepscope.store.stated import StatedDevice

#: Tables stored in a file of another name, which holds more columns.
_FILES: Final = {KERNELS.name: ACTIVITIES}


def views(
    stores: Mapping[int, Path],
    beside: Mapping[int, Sequence[AddsRows]] | None = None,
    stated: StatedDevice | None = None,
) -> dict[str, Callable[[], str]]:
    """What returns the statement that defines a table as a view over the stores' files, by table."""
    ranks = sorted(stores.items())
    found: dict[str, Callable[[], str]] = {
        table.name: partial(_plain_sql, table, ranks, beside or {}) for table in PLAIN_TABLES
    }
    if stated is not None:
        found[DEVICES.name] = lambda: _stated_sql(_plain_sql(DEVICES, ranks, beside or {}), stated)
    found[EVENTS.name] = lambda: f"CREATE VIEW events AS {' UNION ALL '.join(starmap(_events_sql, ranks))}"
    found[OP_INPUTS.name] = lambda: _defined(
        OP_INPUTS, [_inputs_sql(rank, path) for rank, path in ranks if _path(path, INPUT_CALLS).exists()]
    )
    if len(stores) == 1:
        [(rank, path)] = ranks
        spans = ", ".join(f"{rank}::INTEGER AS rank" if name == "rank" else name for name in SPAN_COLUMNS)
        found["spans"] = lambda: f"CREATE VIEW spans AS SELECT {spans} FROM {_files(path, EVENTS_GLOB)}"
        found["names"] = lambda: f"CREATE VIEW names AS SELECT * FROM {_file(path / 'names.parquet')}"
        found[ACTIVITIES.name] = lambda: _defined(ACTIVITIES, _rows(path, ACTIVITIES, _columns(ACTIVITIES, rank)))
        for table in (INPUT_CALLS, INPUT_TEXTS):
            found[table.name] = partial(lambda table: _defined(table, _rows(path, table, "*")), table)
    return found


def empty_tables(rank: int, store: Path, beside: Sequence[AddsRows] = ()) -> frozenset[str]:
    """Tables without rows, for which the store of a rank has no files."""
    plain = {table.name for table in PLAIN_TABLES if not _parts(table, rank, store, beside)}
    return frozenset(plain if _path(store, INPUT_CALLS).exists() else {*plain, OP_INPUTS.name})


def _plain_sql(table: TableSchema, ranks: Sequence[tuple[int, Path]], beside: Mapping[int, Sequence[AddsRows]]) -> str:
    return _defined(table, [part for rank, path in ranks for part in _parts(table, rank, path, beside.get(rank, ()))])


def _parts(table: TableSchema, rank: int, store: Path, beside: Sequence[AddsRows]) -> list[str]:
    """SELECT statements of a rank's rows of a table."""
    own = _rows(store, _FILES.get(table.name, table), _columns(table, rank))
    return [*own, *(part for one in beside for part in one.rows(table, rank, store))]


def _stated_sql(statement: str, stated: StatedDevice) -> str:
    """The same view with what users state in place of what is recorded; without devices there is nothing to state."""
    before, view, selected = statement.partition(" AS ")
    if "CREATE VIEW" not in before or not view:
        return statement
    return f"{before} AS SELECT * REPLACE ({stated.columns_sql()}) FROM ({selected})"


def _defined(table: TableSchema, parts: Sequence[str]) -> str:
    """Define a table as a view over its parts; without any as an empty one, which is planned sooner than a view."""
    if parts:
        return f'CREATE VIEW "{table.name}" AS {" UNION ALL ".join(parts)}'
    return f'CREATE TABLE "{table.name}" ({columns_sql(table.columns)})'


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
