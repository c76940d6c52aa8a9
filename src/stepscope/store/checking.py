"""That no event of a store lacks what every event has: nulls are counted as files are written, so none is read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb

from stepscope.model.tables import EVENTS
from stepscope.store.layout import EVENTS_GLOB, SPAN_COLUMNS

_NULLS_SQL: Final = """
SELECT path_in_schema, sum(stats_null_count)::BIGINT FROM parquet_metadata($files) WHERE stats_null_count > 0 GROUP BY 1
"""
#: Columns of events that hold no null. A column that may is declared so, and `name_id` stands for a name.
_KNOWN: Final = {*SPAN_COLUMNS} - {column.name for column in EVENTS.columns if column.nullable}


def check_events(folder: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Keep a store in which something went wrong from being used again and again.

    Raises:
        RuntimeError: Values are missing.
    """
    files = [str(path) for path in folder.glob(EVENTS_GLOB)]
    for column, number in connection.execute(_NULLS_SQL, {"files": files}).fetchall():
        if column in _KNOWN:
            raise RuntimeError(f"{number} events were stored without {column}")
