"""Look up names by `name_id`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stepscope.model.events.lookup import match

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray


def names_of(connection: duckdb.DuckDBPyConnection, name_id: NDArray[Any]) -> list[str]:
    """The names with these ids, all of which must exist."""
    names = connection.sql("SELECT name_id, name FROM names").to_arrow_table()
    found: list[str] = names["name"].take(pa.array(match(names["name_id"].to_numpy(), name_id))).to_pylist()
    return found
