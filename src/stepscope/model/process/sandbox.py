"""Sandbox for untrusted SQL: it may read the tables of one trace and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.process.spill import spill_folder

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

#: What a statement may consist of. Others (`COPY_QUERY_NODE`, `INSERT_QUERY_NODE`, ...) write.
_READING: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
#: Functions that a query may have in place of a table. Others read files, change how DuckDB works or run texts as SQL.
_TABLE_FUNCTIONS: Final = frozenset(
    {
        "range", "generate_series", "unnest", "repeat", "json_each", "json_tree", "pragma_table_info",
        "duckdb_columns", "duckdb_functions",
    }
)  # fmt: skip
#: Functions that tell where files lie: in settings, and in what views are made of.
_REVEALING: Final = frozenset({"current_setting", "getenv", "pg_get_viewdef", "pg_sleep"})
#: Of the tables that DuckDB has of itself, those that tell nothing of that either.
_HARMLESS: Final = frozenset({"tables", "columns", "schemata", "duckdb_columns", "duckdb_types"})
_INTERNAL_SQL: Final = "SELECT DISTINCT view_name FROM duckdb_views() WHERE internal"
#: What queries may put on disk.
_SPILL_LIMIT: Final = "8GB"
_HINT: Final = "give a single SELECT over the tables that `stepscope schema` lists"


def lock(connection: duckdb.DuckDBPyConnection, stores: Iterable[Path]) -> None:
    """Permanently restrict a connection's file access to `stores` and lock its settings."""
    files = [file for store in stores for file in sorted(store.glob("*.parquet"))]
    connection.execute(f"SET temp_directory = {_literal(spill_folder('spill-query'))}")
    connection.execute(f"SET max_temp_directory_size = '{_SPILL_LIMIT}'")
    connection.execute(f"SET allowed_paths = [{', '.join(map(_literal, files))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def check_reads_only(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Refuse everything but one statement that only reads.

    Raises:
        UserError: The query is no SQL, more than one statement, or does anything but read.
    """
    import duckdb

    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise UserError(
            said("the query is not valid SQL: {first_line}", first_line=first_line(error)),
            hint=_suggested(error) or _HINT,
        ) from error
    if len(statements) != 1:
        raise UserError(said("the query has {statements} statements", statements=len(statements)), hint=_HINT)
    kind = statements[0].type
    if kind != duckdb.StatementType.SELECT:
        raise UserError(said("queries only read, and this is a statement of kind {name}", name=kind.name), hint=_HINT)
    tree = json.loads(connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0])
    parts = list(_parts(tree))
    writing = sorted({part["type"] for part in parts if part["type"].endswith("_NODE")} - _READING)
    if tree.get("error") or writing:
        what = ", ".join(node.removesuffix("_QUERY_NODE") for node in writing) or "a statement that can't be checked"
        raise UserError(said("queries only read, and this one contains {what}", what=what), hint=_HINT)
    tables = {str(part["function"]["function_name"]).lower() for part in parts if part["type"] == "TABLE_FUNCTION"}
    called = {str(part.get("function_name")).lower() for part in parts if part["type"] == "FUNCTION"}
    if refused := sorted((tables - _TABLE_FUNCTIONS) | (called & _REVEALING)):
        raise UserError(
            said("queries only read the trace, and this one calls {refused}", refused=", ".join(refused)), hint=_HINT
        )
    read = {str(part.get("table_name")).lower() for part in parts if part["type"] == "BASE_TABLE"}
    internal = {name for (name,) in connection.execute(_INTERNAL_SQL).fetchall()} - _HARMLESS
    if refused := sorted(read & internal):
        raise UserError(
            said("queries only read the trace, and this one reads {refused}", refused=", ".join(refused)), hint=_HINT
        )


def answered(ask: Callable[[str], T], query: str) -> T:
    """What a query gives.

    Raises:
        UserError: The database does not answer it.
    """
    import duckdb

    try:
        try:
            return ask(query)
        except duckdb.CatalogException:
            # Similar names are suggested only of tables that a query has named, or all at once.
            ask("SHOW TABLES")
            return ask(query)
    except duckdb.Error as error:
        raise failure(error) from error


def failure(error: Exception) -> UserError:
    """The error for a failed query, with DuckDB's suggestion of a similar name."""
    return UserError(
        said("the query failed: {first_line}", first_line=first_line(error)),
        hint=_suggested(error) or "see `stepscope schema`",
    )


def first_line(error: Exception) -> str:
    """The first sentence of a database error, without its class."""
    line = str(error).split("\n", 1)[0]
    return line.split("Error: ", 1)[-1].rstrip(".!")


def _suggested(error: Exception) -> str:
    """The similar name that DuckDB suggests; empty if it does not."""
    for line in str(error).splitlines()[1:]:
        if line.startswith("Did you mean"):
            return line[0].lower() + line[1:].rstrip("?")
        if line.startswith("Candidate bindings: "):
            return said("did you mean {line}", line=line.removeprefix("Candidate bindings: "))
    return ""


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    """All nodes of a serialised statement."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        children: Iterable[Any] = part.values() if isinstance(part, dict) else part
        waiting.extend(child for child in children if isinstance(child, (dict, list)))
        if isinstance(part, dict) and isinstance(part.get("type"), str):
            yield part


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
