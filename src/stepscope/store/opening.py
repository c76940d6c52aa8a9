"""From stored recordings to an open `Trace`: views over Parquet files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepscope.model.errors import UserError
from stepscope.model.recording import Recording
from stepscope.model.sandbox import lock
from stepscope.model.schema import TableSchema
from stepscope.model.spill import spill_folder
from stepscope.model.tables import EVENTS, KERNELS, OP_INPUTS
from stepscope.model.trace import Note, Trace
from stepscope.store.activities import ACTIVITIES
from stepscope.store.inputs import op_inputs_sql
from stepscope.store.layout import ARGS_GLOB, EVENTS_GLOB, MANIFEST, PLAIN_TABLES, SPAN_COLUMNS, VERSION

if TYPE_CHECKING:
    import duckdb

#: Tables whose file has another name, since it holds more.
_FILES: Final = {KERNELS.name: ACTIVITIES.name}


def read_manifest(store: Path) -> Recording:
    """The recording that a store folder holds.

    Raises:
        UserError: The folder is not a store, or one of another version.
    """
    try:
        manifest = json.loads((store / MANIFEST).read_text(encoding="utf-8"))
        if manifest["version"] != VERSION:
            raise UserError(f"{store} was written by another version of stepscope", hint="read the recording again")
        return Recording.from_json(manifest["recording"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{store} is not a stepscope store", hint="give the recording itself") from error


def open_stores(stores: Mapping[int, Path], notes: Sequence[Note] = (), *, locked: bool = False) -> Trace:
    """Open the stored recordings of one or more ranks as one trace.

    Args:
        stores: Folder of each rank's recording.
        notes: Lines of health about the input as a whole.
        locked: Let queries reach no file but the stores', no network and no setting.
    """
    import duckdb

    recordings = {rank: read_manifest(path) for rank, path in stores.items()}
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "python_enable_replacements": "false",
        # Queries that need more spill to disk, outside the current folder and only while they run.
        "memory_limit": "450MB",
        # Without threads of its own the allocator keeps most of what queries needed.
        "allocator_background_threads": True,
        "temp_directory": str(spill_folder()),
    }
    connection = duckdb.connect(":memory:", config=config)
    # A store is never changed: planning a query over its files need not read how each ends. DuckDB 1.5 knows the
    # setting only once it has loaded what reads Parquet.
    connection.execute("SET parquet_metadata_cache = true")
    create_views(connection, stores)
    if locked:
        lock(connection, stores)
    return Trace(connection, recordings, lambda rank: open_stores({rank: stores[rank]}, locked=locked), notes)


def create_views(connection: duckdb.DuckDBPyConnection, stores: Mapping[int, Path]) -> None:
    """Define every canonical table as a view over the stores' files."""
    for table in PLAIN_TABLES:
        parts = []
        for rank, path in sorted(stores.items()):
            file = _file(path / f"{_FILES.get(table.name, table.name)}.parquet")
            parts.append(f"SELECT {_columns(table, rank)} FROM {file}")
        connection.execute(f'CREATE VIEW "{table.name}" AS {" UNION ALL ".join(parts)}')
    events = " UNION ALL ".join(_events_sql(rank, path) for rank, path in sorted(stores.items()))
    connection.execute(f"CREATE VIEW events AS {events}")
    inputs = " UNION ALL ".join(_inputs_sql(rank, path) for rank, path in sorted(stores.items()))
    connection.execute(f"CREATE VIEW op_inputs AS {inputs}")
    if len(stores) == 1:
        [(rank, path)] = stores.items()
        spans = ", ".join(f"{rank}::INTEGER AS rank" if name == "rank" else name for name in SPAN_COLUMNS)
        connection.execute(f"CREATE VIEW spans AS SELECT {spans} FROM {_files(path, EVENTS_GLOB)}")
        stored = _file(path / f"{ACTIVITIES.name}.parquet")
        connection.execute(f"CREATE VIEW {ACTIVITIES.name} AS SELECT {_columns(ACTIVITIES, rank)} FROM {stored}")
        for name in ("names", "input_calls", "input_texts"):
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {_file(path / f'{name}.parquet')}")


def _events_sql(rank: int, store: Path) -> str:
    sources = {"rank": f"{rank}::INTEGER AS rank", "name": "n.name", "args": "a.args"}
    columns = ", ".join(sources.get(name, f"e.{name}") for name in EVENTS.names)
    return (
        f"SELECT {columns} FROM {_files(store, EVENTS_GLOB)} e "
        f"JOIN {_file(store / 'names.parquet')} n USING (name_id) "
        f"LEFT JOIN {_files(store, ARGS_GLOB)} a ON a.id = e.id"
    )


def _inputs_sql(rank: int, store: Path) -> str:
    calls, texts = _file(store / "input_calls.parquet"), _file(store / "input_texts.parquet")
    return f"SELECT {_columns(OP_INPUTS, rank)} FROM ({op_inputs_sql(calls, texts)})"


def _columns(table: TableSchema, rank: int) -> str:
    """Columns of a stored table; the rank is not in the file.

    Views are planned wherever they are used: one that selects from another query takes half as long again.
    """
    return ", ".join(f"{rank}::INTEGER AS rank" if name == "rank" else f'"{name}"' for name in table.names)


def _files(store: Path, pattern: str) -> str:
    return _file(*sorted(store.glob(pattern)))


def _file(*paths: Path) -> str:
    quoted = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{quoted}])"
