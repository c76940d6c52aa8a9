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

#: Types of DuckDB of which Arrow holds the same bytes as NumPy, or a bit of each, and what NumPy calls them.
_ALIKE: Final = {
    "TINYINT": "i1", "SMALLINT": "i2", "INTEGER": "i4", "BIGINT": "i8", "UTINYINT": "u1", "USMALLINT": "u2",
    "UINTEGER": "u4", "UBIGINT": "u8", "FLOAT": "f4", "DOUBLE": "f8", "BOOLEAN": "?",
}  # fmt: skip


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
    kinds = [_ALIKE.get(str(kind)) for kind in result.types]
    if None in kinds:
        other: dict[str, NDArray[Any]] = result.fetchnumpy()
        return other
    table = result.to_arrow_table()
    if any(column.null_count for column in table.columns):
        return fetch(connection, query, parameters)
    names, columns = table.column_names, table.columns[::-1]
    del table
    # One after the other, so that only one is there twice.
    return {name: _array(columns.pop(), np.dtype(kind)) for name, kind in zip(names, kinds, strict=True)}


def _array(column: pa.ChunkedArray, kind: np.dtype[Any]) -> NDArray[Any]:
    """An array of its own, which may be changed."""
    return np.concatenate([np.zeros(0, kind), *(_values(part, kind) for part in column.chunks if len(part))])


def _values(part: pa.Array, kind: np.dtype[Any]) -> NDArray[Any]:
    """What a part of a column holds, in its place; Arrow's own method would import pandas where that is installed."""
    first, number, data = part.offset, len(part), part.buffers()[1]
    if kind == np.bool_:
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=first + number, bitorder="little")
        return bits[first:].view(np.bool_)
    return np.frombuffer(data, kind, number, first * kind.itemsize)
