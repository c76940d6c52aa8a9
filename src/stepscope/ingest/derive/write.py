"""The canonical tables, written as the store's files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

from stepscope.store.layout import PARQUET, STORED_TABLES, stored_columns
from stepscope.store.staging import Staging

_EVENTS_SQL: Final = """
SELECT e.id, e.ts, e.dur, e.track, n.depth, n.parent, e.name_id,
    CASE WHEN k.kind = 'comm' THEN 'collective' ELSE e.category END AS category,
    coalesce(n.step, k.step) AS step, e.correlation, e.external_id
FROM raw_events e
LEFT JOIN nesting n USING (id)
LEFT JOIN kernels k ON k.event = e.id
ORDER BY e.track, e.ts, e.id
"""

_MEMORY_SQL: Final = """
CREATE TABLE memory AS
SELECT m.ts, m.device, m.address, m.bytes, m.allocated, m.reserved, o.owner
FROM raw_memory m LEFT JOIN memory_owners o ON o.row = m.rowid ORDER BY m.ts, m.rowid
"""


def write_tables(staging: Staging) -> None:
    """Write every table but the arguments, which readers have written already."""
    connection = staging.connection
    connection.execute(_MEMORY_SQL)
    connection.execute(
        "CREATE TABLE health (code VARCHAR, severity VARCHAR, count BIGINT, message VARCHAR, effect VARCHAR)"
    )
    for line in staging.health:
        row = [line.code, line.severity, line.count, line.message, line.effect]
        connection.execute("INSERT INTO health VALUES (?, ?, ?, ?, ?)", row)
    if not any(staging.folder.glob("args-*.parquet")):
        staging.add_args("SELECT NULL::BIGINT AS id, NULL::VARCHAR AS args WHERE false")
    queries = {"events": _EVENTS_SQL, "names": "SELECT name_id, name FROM names ORDER BY name_id"}
    for table in STORED_TABLES:
        columns = ", ".join(f'"{column.name}"' for column in stored_columns(table))
        queries[table.name] = f'SELECT {columns} FROM "{table.name}"'
    # Two at a time: while the events are sorted, all else is compressed.
    with ThreadPoolExecutor(2, thread_name_prefix="stepscope-writing") as executor:
        tasks = [executor.submit(_copy, staging, query, name) for name, query in queries.items()]
        for task in tasks:
            task.result()


def _copy(staging: Staging, query: str, name: str) -> None:
    target = str(staging.folder / f"{name}.parquet").replace("'", "''")
    with staging.connection.cursor() as cursor:
        cursor.execute(f"COPY ({query}) TO '{target}' ({PARQUET})")
