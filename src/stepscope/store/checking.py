"""Verify that required event columns hold no nulls, from Parquet statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb

from stepscope.language import said
from stepscope.model.tables import EVENTS
from stepscope.store.layout import EVENTS_GLOB, SPAN_COLUMNS

_NULLS_SQL: Final = """
SELECT path_in_schema, sum(stats_null_count)::BIGINT FROM parquet_metadata($files) WHERE stats_null_count > 0 GROUP BY 1
"""
#: Required columns of stored events; `name_id` stands for the name.
_KNOWN: Final = {*SPAN_COLUMNS} - {column.name for column in EVENTS.columns if column.nullable}


def check_events(folder: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse a store with nulls in required columns, so that it never enters the cache.

    Raises:
        RuntimeError: A required column has nulls.
    """
    files = [str(path) for path in folder.glob(EVENTS_GLOB)]
    for column, number in connection.execute(_NULLS_SQL, {"files": files}).fetchall():
        if column in _KNOWN:
            raise RuntimeError(said("{number} events were stored without {column}", number=number, column=column))
