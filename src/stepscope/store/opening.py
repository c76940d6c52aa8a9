"""Open stored recordings as a `Trace`: views over Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepscope.model.place import Place
from stepscope.model.process.sandbox import lock
from stepscope.model.process.spill import spill_folder
from stepscope.model.schema import TableSchema
from stepscope.model.sizes import SIZES
from stepscope.model.tables import EVENTS, KERNELS, OP_INPUTS
from stepscope.model.trace import Note, Trace
from stepscope.store.activities import ACTIVITIES
from stepscope.store.inputs import INPUT_CALLS, INPUT_TEXTS, op_inputs_sql
from stepscope.store.layout import (
    ARGS_GLOB,
    EVENTS_GLOB,
    PLAIN_TABLES,
    SPAN_COLUMNS,
    SQL_TYPES,
    stored_columns,
)
from stepscope.store.manifest import check_rows, read_manifest
from stepscope.store.snapshots import Snapshot, rows_beside

if TYPE_CHECKING:
    import duckdb

#: Tables stored in a file of another name, which holds more columns.
_FILES: Final = {KERNELS.name: ACTIVITIES}

#: Memory of queries; planning one over many ranks takes a further megabyte for each.
_MEGABYTES: Final = 450


def connect_ahead() -> Callable[[], duckdb.DuckDBPyConnection]:
    """Start connecting to DuckDB in the background; the returned function waits for the connection.

    This hides DuckDB's start-up behind the work that precedes opening.
    """
    executor = ThreadPoolExecutor(1, thread_name_prefix="stepscope-connecting")
    connecting = executor.submit(_connect)
    executor.shutdown(wait=False)
    return connecting.result


def _connect() -> duckdb.DuckDBPyConnection:
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "python_enable_replacements": "false",
        # Larger queries spill to disk, in a temporary folder and only while they run.
        "memory_limit": f"{_MEGABYTES}MB",
        "temp_directory": str(spill_folder()),
    }
    return duckdb.connect(":memory:", config=config)


def open_stores(
    stores: Mapping[int, Path],
    notes: Sequence[Note] = (),
    *,
    snapshots: Mapping[int, Path] | None = None,
    places: Sequence[Place] = (),
    locked: bool = False,
    check: bool = False,
    connect: Callable[[], duckdb.DuckDBPyConnection] = _connect,
) -> Trace:
    """Open the stored recordings of one or more ranks as one trace.

    Args:
        stores: Folder of each rank's recording.
        notes: Health lines about the input as a whole.
        snapshots: Folder of the memory snapshot that adds to a rank's recording.
        places: Every recording of the input, with its run, rank and span.
        locked: Restrict queries to the stores' files, without network or settings.
        check: Compare the stores' rows with their manifests.
        connect: Returns a connection that nothing else uses, such as the result of `connect_ahead`.

    Raises:
        DamagedStoreError: A store differs from its manifest.
    """
    recordings = {rank: read_manifest(path) for rank, path in stores.items()}
    connection = connect()
    # Without threads of its own the allocator keeps most of what queries needed. It is one for the whole process.
    connection.execute("SET allocator_background_threads = true")
    # A store is never changed: planning a query over its files need not read how each ends. DuckDB 1.5 knows the
    # setting only once it has loaded what reads Parquet.
    connection.execute("SET parquet_metadata_cache = true")
    beside = {rank: Snapshot.of(path, recordings[rank]) for rank, path in (snapshots or {}).items()}
    if check:
        for path in (*stores.values(), *(one.store for one in beside.values())):
            check_rows(path, connection)
    # Views over all of many ranks are only made for who asks about all of them at once.
    later = len(stores) > SIZES.joined_ranks and not locked
    if later:
        connection.execute(f"SET memory_limit = '{_MEGABYTES + len(stores)}MB'")
    else:
        create_views(connection, stores, beside)
    if locked:
        lock(connection, [*stores.values(), *(one.store for one in beside.values())])

    def of_rank(rank: int) -> Callable[[], Trace]:
        known = snapshots or {}
        part = {rank: known[rank]} if rank in known else None
        return partial(open_stores, {rank: stores[rank]}, snapshots=part, locked=locked)

    prepare = (lambda first: create_views(first, stores, beside)) if later else None
    return Trace(connection, recordings, of_rank, notes, places=places, prepare=prepare, folders=stores)


def create_views(
    connection: duckdb.DuckDBPyConnection, stores: Mapping[int, Path], snapshots: Mapping[int, Snapshot] | None = None
) -> None:
    """Define every canonical table as a view over the stores' files."""
    for table in PLAIN_TABLES:
        parts = []
        for rank, path in sorted(stores.items()):
            parts.append(f"SELECT {_columns(table, rank)} FROM {_stored(path, _FILES.get(table.name, table))}")
            if snapshots and rank in snapshots:
                parts += rows_beside(table, rank, path, snapshots[rank])
        connection.execute(f'CREATE VIEW "{table.name}" AS {" UNION ALL ".join(parts)}')
    events = " UNION ALL ".join(_events_sql(rank, path) for rank, path in sorted(stores.items()))
    connection.execute(f"CREATE VIEW events AS {events}")
    inputs = " UNION ALL ".join(_inputs_sql(rank, path) for rank, path in sorted(stores.items()))
    connection.execute(f"CREATE VIEW op_inputs AS {inputs}")
    if len(stores) == 1:
        [(rank, path)] = stores.items()
        spans = ", ".join(f"{rank}::INTEGER AS rank" if name == "rank" else name for name in SPAN_COLUMNS)
        connection.execute(f"CREATE VIEW spans AS SELECT {spans} FROM {_files(path, EVENTS_GLOB)}")
        stored = _stored(path, ACTIVITIES)
        connection.execute(f"CREATE VIEW {ACTIVITIES.name} AS SELECT {_columns(ACTIVITIES, rank)} FROM {stored}")
        connection.execute(f"CREATE VIEW names AS SELECT * FROM {_file(path / 'names.parquet')}")
        for table in (INPUT_CALLS, INPUT_TEXTS):
            connection.execute(f"CREATE VIEW {table.name} AS SELECT * FROM {_stored(path, table)}")


def _events_sql(rank: int, store: Path) -> str:
    sources = {"rank": f"{rank}::INTEGER AS rank", "name": "n.name", "args": "a.args"}
    columns = ", ".join(sources.get(name, f"e.{name}") for name in EVENTS.names)
    return (
        f"SELECT {columns} FROM {_files(store, EVENTS_GLOB)} e "
        f"JOIN {_file(store / 'names.parquet')} n USING (name_id) "
        f"LEFT JOIN {_files(store, ARGS_GLOB)} a ON a.id = e.id"
    )


def _inputs_sql(rank: int, store: Path) -> str:
    inputs = op_inputs_sql(_stored(store, INPUT_CALLS), _stored(store, INPUT_TEXTS))
    return f"SELECT {_columns(OP_INPUTS, rank)} FROM ({inputs})"


def _stored(store: Path, table: TableSchema) -> str:
    """The relation that holds a stored table."""
    file = store / f"{table.name}.parquet"
    if file.exists():
        return _file(file)
    columns = ", ".join(f'NULL::{SQL_TYPES[column.type]} AS "{column.name}"' for column in stored_columns(table))
    return f"(SELECT {columns} WHERE false)"


def _columns(table: TableSchema, rank: int) -> str:
    """SELECT list of a stored table, adding the rank, which is not in the file.

    One flat SELECT per view: views are planned at each use, and nested ones take longer.
    """
    return ", ".join(f"{rank}::INTEGER AS rank" if name == "rank" else f'"{name}"' for name in table.names)


def _files(store: Path, pattern: str) -> str:
    return _file(*sorted(store.glob(pattern)))


def _file(*paths: Path) -> str:
    quoted = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{quoted}])"
