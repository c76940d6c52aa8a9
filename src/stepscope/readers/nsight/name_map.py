"""Names in columns of string ids, each interpreted once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from stepscope.readers.nsight.loader import ExportLoader


class NameMap:
    """Names in a column of string ids, each interpreted once.

    In SQL: table `{table}(id, name_id, ...)` with a row per id used so far.
    """

    def __init__(self, loader: ExportLoader, table: str, columns_of: Callable[[str], dict[str, Any]]) -> None:
        """Create the table; `columns_of` maps a recorded name to `name` and further text columns."""
        self._loader = loader
        self._table = table
        self._columns_of = columns_of
        self._extra = [key for key in columns_of("") if key != "name"]
        extra = "".join(f", {name} VARCHAR" for name in self._extra)
        loader.staging.connection.execute(f"CREATE TABLE {table} (id BIGINT, name VARCHAR{extra}, name_id INTEGER)")

    def extend(self, column: str) -> None:
        """Add new ids in a column (or expression) of the chunk."""
        staging = self._loader.staging
        rows = staging.connection.execute(
            f"SELECT DISTINCT coalesce({column}, -1) FROM chunk "
            f"ANTI JOIN {self._table} m ON m.id = coalesce({column}, -1) ORDER BY 1"
        ).fetchall()
        if not rows:
            return
        texts = self._loader.strings({key for (key,) in rows})
        recorded = [self._columns_of(texts[key]) for (key,) in rows]
        columns = {"id": pa.array([key for (key,) in rows], pa.int64())}
        for name in ("name", *self._extra):
            columns[name] = pa.array([one[name] for one in recorded], pa.string())
        columns["name_id"] = pa.nulls(len(rows), pa.int32())
        staging.insert(self._table, pa.table(columns))
        staging.intern_names(self._table)
        staging.connection.execute(
            f"UPDATE {self._table} SET name_id = names.name_id FROM names "
            f"WHERE {self._table}.name_id IS NULL AND {self._table}.name = names.name"
        )
