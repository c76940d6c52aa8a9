"""Write the canonical tables as the store's files, in the background of deriving."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from stepscope.ingest.derive.activities import DerivedWork
from stepscope.ingest.derive.device_events import CATEGORY_SQL, device_events_sql
from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.work import RecordedWork
from stepscope.model.process.executors import threads_for
from stepscope.model.schema import TableSchema
from stepscope.model.table import arrow_schema
from stepscope.model.tables import COLLECTIVES, HEALTH
from stepscope.store.activities import ACTIVITIES
from stepscope.store.layout import PARQUET, PARQUET_OF_FEW, SPAN_COLUMNS, STORED_TABLES, stored_columns
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    import pyarrow as pa


_LAUNCHES_SQL: Final = "SELECT 'launch' AS kind, source, target FROM launched"
_ENDS_SQL: Final = """
SELECT kind, key, x.owner AS event FROM raw_flows f JOIN flow_ends x ON f.id = x.row WHERE {}
"""
_FLOWS_SQL: Final = f"""
{_LAUNCHES_SQL}
UNION ALL
(SELECT s.kind, s.event, t.event
FROM ({_ENDS_SQL.format("is_source")}) s JOIN ({_ENDS_SQL.format("NOT is_source")}) t USING (kind, key)
ORDER BY s.kind, s.event, t.event)
"""


def flows_sql(ends: pa.Table) -> str:
    """The query for `flows` from the launches of kernels (`launched`) and the ends of other flows (`flow_ends`)."""
    return _FLOWS_SQL if len(ends) else _LAUNCHES_SQL


def launched(activities: DerivedWork) -> pa.Table:
    """Source and target event of each launch's flow, by time of the launched work."""
    known = activities.launch >= 0
    return pa.table({"source": activities.launch[known], "target": activities.event[known]})


_MEMORY_SQL: Final = """
SELECT m.ts, m.device, m.address, m.bytes, m.allocated, m.reserved, o.owner
FROM raw_memory m LEFT JOIN memory_owners o ON o.row = m.id ORDER BY m.ts, m.id
"""
#: Columns of large tables with more values than this are hardly smaller with a dictionary, which takes time to
#: build even if it is discarded.
_MOST_WORDS: Final = 4096
#: Of fewer rows DuckDB makes smaller dictionaries by itself: of a fifth of the rows at most.
_LARGE: Final = 5 * _MOST_WORDS
#: So many rows are not compressed.
_FEW: Final = 100

#: Tables that are written as derived, and those that are known last.
_DERIVED: Final = (ACTIVITIES.name, "memory", "flows", "steps", "health")
_LATE: Final = ("collectives", "devices")

_HOST_SPANS: Final = ", ".join(CATEGORY_SQL if name == "category" else name for name in SPAN_COLUMNS if name != "rank")


class Writing:
    """Writer of a store's files, in threads for many events; as a context manager it waits for them at exit."""

    def __init__(self, staging: Staging, events: int) -> None:
        self._staging = staging
        self._executor = threads_for(events, 2, "writing")
        self._tasks: list[Future[None]] = []
        self._host_files = 0

    def __enter__(self) -> Writing:
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown(wait=True)
        if error[0] is None:
            self.wait()

    def wait(self) -> None:
        """Wait until everything started is written; re-raises errors of the writing threads."""
        for task in self._tasks:
            task.result()
        self._tasks.clear()

    def start_host_events(self, events: pa.Table) -> None:
        """Write events of host threads in stored form, by track and time, with categories as positions in `CATEGORIES`.

        One such table is in memory at a time.
        """
        self.wait()
        self._start(f"events-host-{self._host_files:05d}", f"SELECT {_HOST_SPANS} FROM host_events", host_events=events)
        self._host_files += 1

    def start_staged(self) -> None:
        """Write the tables that are stored as staged."""
        self._start_tables(*(table for table in STORED_TABLES if table.name not in (*_DERIVED, *_LATE)))
        self._start("names", "SELECT name_id, name FROM names ORDER BY name_id", rows=self._staging.rows("names"))

    def start_activities(self, activities: pa.Table) -> None:
        """Write `activities`."""
        self._start(ACTIVITIES.name, "SELECT * FROM derived", derived=activities)

    def start_device_events(
        self, overview: Overview, work: RecordedWork, events: pa.Table, nested: pa.Table, places: pa.Table
    ) -> None:
        """Write device events (`device_events`), with enclosing events of those on host threads, and steps."""
        views = {"device_events": events, "nested_work": nested, "step_places": places}
        self._start("events-device", device_events_sql(overview, work), **views)

    def start_memory(self, owners: pa.Table) -> None:
        """Write `memory`, given the events that enclose rows of `raw_memory`."""
        if not self._staging.may_have("raw_memory"):
            return
        [rows] = self._staging.one("SELECT count(*) FROM raw_memory")
        if rows:
            self._start("memory", _MEMORY_SQL, rows=rows, memory_owners=owners)

    def start_flows(self, activities: DerivedWork, ends: pa.Table) -> None:
        """Write `flows`, given the events that enclose rows of `raw_flows`."""
        launches = launched(activities)
        if len(launches) or len(ends):
            self._start("flows", flows_sql(ends), launched=launches, flow_ends=ends)

    def start_steps(self, steps: pa.Table) -> None:
        """Write `steps`."""
        self._start("steps", "SELECT * FROM derived", derived=steps)

    def start_rest(self) -> None:
        """Write the remaining tables; the reader has written the arguments."""
        if self._staging.health:
            self._start("health", "SELECT * FROM derived", derived=_health(self._staging))
        self._start_tables(*(table for table in STORED_TABLES if table.name in _LATE))

    def _start_tables(self, *tables: TableSchema) -> None:
        """Write the tables that have rows."""
        for table in (table for table in tables if self._staging.may_have(table.name)):
            columns = ", ".join(f'"{column.name}"' for column in stored_columns(table))
            order = "ORDER BY event" if table is COLLECTIVES else ""
            self._start(
                table.name, f'SELECT {columns} FROM "{table.name}" {order}', rows=self._staging.rows(table.name)
            )

    def _start(self, name: str, query: str, *, rows: int | None = None, **arrow: pa.Table) -> None:
        shown = max((len(table) for table in arrow.values()), default=None)
        known = shown if rows is None else rows
        options = PARQUET_OF_FEW if known is not None and known <= _FEW else PARQUET
        if shown is not None and shown > _LARGE:
            options = f"{PARQUET}, DICTIONARY_SIZE_LIMIT {_MOST_WORDS}"
        self._tasks.append(self._executor.submit(_copy, self._staging, query, name, options, arrow))


def _health(staging: Staging) -> pa.Table:
    rows = [asdict(line) for line in staging.health]
    return pa.Table.from_pylist(rows, pa.schema([field for field in arrow_schema(HEALTH) if field.name != "rank"]))


def _copy(staging: Staging, query: str, name: str, options: str, arrow: dict[str, pa.Table]) -> None:
    target = str(staging.folder / f"{name}.parquet").replace("'", "''")
    with staging.connect() as cursor:
        for view, table in arrow.items():
            cursor.register(view, table)
        cursor.execute(f"COPY ({query}) TO '{target}' ({options})")
