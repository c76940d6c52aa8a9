"""Open stored recordings as a `Trace`: views over Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from stepscope.model.place import Place
from stepscope.model.process.databases import Database
from stepscope.model.process.sandbox import lock
from stepscope.model.process.spill import spill_folder
from stepscope.model.sizes import SIZES
from stepscope.model.trace import Note, Trace
from stepscope.store.beside import beside_of
from stepscope.store.cache import keys_of
from stepscope.store.manifest import check_rows, read_manifest
from stepscope.store.stated import StatedDevice
from stepscope.store.views import empty_tables, views

#: Memory of queries; planning one over many ranks takes a further megabyte for each.
_MEGABYTES: Final = 450


def connect_ahead() -> Callable[[], Database]:
    """Start connecting to DuckDB in the background; the returned function waits for the database.

    This hides DuckDB's start-up behind the work that precedes opening.
    """
    executor = ThreadPoolExecutor(1, thread_name_prefix="stepscope-connecting")
    connecting = executor.submit(_connect)
    executor.shutdown(wait=False)
    return connecting.result


def _connect() -> Database:
    config = {"autoinstall_known_extensions": "false", "python_enable_replacements": "false"}
    # Larger queries spill to disk, in a temporary folder and only while they run.
    return Database(config, {"memory_limit": f"{_MEGABYTES}MB", "temp_directory": str(spill_folder())})


def open_stores(
    stores: Mapping[int, Path],
    notes: Sequence[Note] = (),
    *,
    snapshots: Mapping[int, Path] | None = None,
    machines: Mapping[int, Path] | None = None,
    counted: Mapping[int, Sequence[Path]] | None = None,
    places: Sequence[Place] = (),
    stated: StatedDevice | None = None,
    locked: bool = False,
    check: bool = False,
    connect: Callable[[], Database] = _connect,
) -> Trace:
    """Open the stored recordings of one or more ranks as one trace.

    Args:
        stores: Folder of each rank's recording.
        notes: Health lines about the input as a whole.
        snapshots: Folder of the memory snapshot that adds to a rank's recording.
        machines: Folder of the samples of the machine on which a rank ran.
        counted: Folders of what kernel profilers counted of a rank's kernels.
        places: Every recording of the input, with its run, rank and span.
        stated: What the user states of the devices.
        locked: Restrict queries to the stores' files, without network or settings.
        check: Compare the stores' rows with their manifests.
        connect: Returns an empty database, such as the result of `connect_ahead`.

    Raises:
        DamagedStoreError: A store differs from its manifest.
    """
    recordings = {rank: read_manifest(path) for rank, path in stores.items()}
    known, sampled, counters = snapshots or {}, machines or {}, counted or {}
    beside = {
        rank: beside_of(
            path, recordings[rank], known.get(rank), [sampled[rank]] if rank in sampled else (), counters.get(rank, ())
        )
        for rank, path in stores.items() if rank in known or rank in sampled or rank in counters
    }  # fmt: skip
    added = {one.store for group in beside.values() for one in group}
    database = connect()
    database.later.add(views(stores, beside, stated))
    if len(stores) == 1:
        [(rank, path)] = stores.items()
        database.empty = empty_tables(rank, path, beside.get(rank, ()))
    with database.connect() as connection:
        # Without threads of its own the allocator keeps most of what queries needed. It is one for the whole process.
        connection.execute("SET allocator_background_threads = true")
        # A store is never changed: planning a query over its files need not read how each ends. DuckDB 1.5 knows the
        # setting only once it has loaded what reads Parquet.
        connection.execute("SET parquet_metadata_cache = true")
        if check:
            for path in (*stores.values(), *sorted(added)):
                check_rows(path, connection)
        if len(stores) > SIZES.joined_ranks and not locked:
            connection.execute(f"SET memory_limit = '{_MEGABYTES + len(stores)}MB'")
        if locked:
            database.later.make(connection)
            lock(connection, [*stores.values(), *sorted(added)])

    def of_rank(rank: int) -> Callable[[], Trace]:
        only = {rank: known[rank]} if rank in known else None
        machine = {rank: sampled[rank]} if rank in sampled else None
        return partial(
            open_stores,
            {rank: stores[rank]},
            snapshots=only,
            machines=machine,
            counted={rank: counters[rank]} if rank in counters else None,
            stated=stated,
            locked=locked,
        )

    again = partial(
        open_stores,
        stores,
        notes,
        snapshots=snapshots,
        machines=machines,
        counted=counted,
        places=places,
        stated=stated,
        locked=True,
    )
    trace = Trace(database, recordings, of_rank, notes, places=places, folders=stores, locked=again)
    trace.stores = keys_of((*stores.items(), *((rank, one.store) for rank, group in beside.items() for one in group)))
    trace.when_closed(database.close)
    return trace
