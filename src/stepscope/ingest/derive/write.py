"""The canonical tables, written as the store's files while the rest is derived."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from stepscope.ingest.derive.device_events import device_events_sql
from stepscope.model.categories import CATEGORIES
from stepscope.model.schema import TableSchema
from stepscope.model.tables import HEALTH
from stepscope.store.activities import ACTIVITIES
from stepscope.store.layout import PARQUET, SPAN_COLUMNS, STORED_TABLES, columns_sql, stored_columns
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    import pyarrow as pa

_MEMORY_SQL: Final = """
CREATE TABLE memory AS
SELECT m.ts, m.device, m.address, m.bytes, m.allocated, m.reserved, o.owner
FROM raw_memory m LEFT JOIN memory_owners o ON o.row = m.rowid ORDER BY m.ts, m.rowid
"""

#: Tables that are derived from the kernels.
_LATE: Final = ("collectives", "steps", "devices", "flows", "health")

_CATEGORY: Final = " ".join(f"WHEN {code} THEN '{name}'::category" for code, name in enumerate(CATEGORIES))
_HOST_SPANS: Final = ", ".join(
    f"CASE category {_CATEGORY} END AS category" if name == "category" else name
    for name in SPAN_COLUMNS
    if name != "rank"
)


class Writing:
    """Writes files of a store in threads of its own; used as a context manager, which waits for them."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._executor = ThreadPoolExecutor(2, thread_name_prefix="stepscope-writing")
        self._tasks: list[Future[None]] = []
        self._host_files = 0

    def __enter__(self) -> Writing:
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown(wait=True)
        if error[0] is None:
            self.wait()

    def wait(self) -> None:
        """Until all that was started is written; raises what went wrong with it."""
        for task in self._tasks:
            task.result()
        self._tasks.clear()

    def start_host_events(self, events: pa.Table) -> None:
        """Write events of host threads that have all columns of `events` as stored, by track and time.

        A category is a position in `CATEGORIES`.

        There is one such table in memory at a time.
        """
        self.wait()
        self._start(f"events-host-{self._host_files:05d}", f"SELECT {_HOST_SPANS} FROM host_events", host_events=events)
        self._host_files += 1

    def start_derived(self, activities: pa.Table, events: pa.Table) -> None:
        """Write what is done once the kernels are, which is most."""
        self._start(ACTIVITIES.name, "SELECT * FROM derived", derived=activities)
        self._staging.connection.execute(_MEMORY_SQL)
        self._start("events-device", device_events_sql(self._staging), device_events=events)
        self._start_tables(table for table in STORED_TABLES if table.name not in (*_LATE, ACTIVITIES.name))
        self._start("names", "SELECT name_id, name FROM names ORDER BY name_id")

    def start_rest(self) -> None:
        """Write all else; arguments have been written by the reader."""
        _fill_health(self._staging)
        if not any(self._staging.folder.glob("args-*.parquet")):
            self._staging.add_args("SELECT NULL::BIGINT AS id, NULL::VARCHAR AS args WHERE false")
        self._start_tables(table for table in STORED_TABLES if table.name in _LATE)

    def _start_tables(self, tables: Iterable[TableSchema]) -> None:
        for table in tables:
            columns = ", ".join(f'"{column.name}"' for column in stored_columns(table))
            self._start(table.name, f'SELECT {columns} FROM "{table.name}"')

    def _start(self, name: str, query: str, **arrow: pa.Table) -> None:
        self._tasks.append(self._executor.submit(_copy, self._staging, query, name, arrow))


def _fill_health(staging: Staging) -> None:
    staging.connection.execute(f"CREATE TABLE health ({columns_sql(stored_columns(HEALTH))})")
    for line in staging.health:
        row = [line.code, line.severity, line.count, line.message, line.effect]
        staging.connection.execute("INSERT INTO health VALUES (?, ?, ?, ?, ?)", row)


def _copy(staging: Staging, query: str, name: str, arrow: dict[str, pa.Table]) -> None:
    target = str(staging.folder / f"{name}.parquet").replace("'", "''")
    with staging.connection.cursor() as cursor:
        for view, table in arrow.items():
            cursor.register(view, table)
        cursor.execute(f"COPY ({query}) TO '{target}' ({PARQUET})")
