"""Results of queries as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

Parameters = Sequence[object] | Mapping[str, object]

#: Types of DuckDB that are the same bytes in Arrow and in NumPy, or one bit of each.
_ALIKE: Final = frozenset(
    (
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
        "FLOAT", "DOUBLE", "BOOLEAN",
    )
)  # fmt: skip


def fetch(connection: duckdb.DuckDBPyConnection, query: str, parameters: Parameters | None) -> dict[str, NDArray[Any]]:
    """The columns of a result by name; masked arrays where they hold nulls."""
    found: dict[str, NDArray[Any]] = connection.execute(query, parameters).fetchnumpy()
    return found


def fetch_many(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Parameters | None
) -> dict[str, NDArray[Any]]:
    """The same of a result with many rows: in half of the time, and without holding Python's lock.

    DuckDB hands numbers over as columns of Arrow while it computes them. The query is planned twice for that, which
    takes a millisecond.
    """
    result = connection.sql(query, params=parameters)
    if not all(str(kind) in _ALIKE for kind in result.types):
        other: dict[str, NDArray[Any]] = result.fetchnumpy()
        return other
    table = result.to_arrow_table()
    if any(column.null_count for column in table.columns):
        return fetch(connection, query, parameters)
    names, columns = table.column_names, table.columns[::-1]
    del table
    # One after the other, so that only one is there twice.
    return {name: _array(columns.pop()) for name in names}


def _array(column: pa.ChunkedArray) -> NDArray[Any]:
    """An array of its own, which may be changed."""
    parts = [part.to_numpy(zero_copy_only=False) for part in column.chunks]
    return np.concatenate(parts) if parts else np.zeros(0, column.type.to_pandas_dtype())
