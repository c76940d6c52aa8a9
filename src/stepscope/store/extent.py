"""When a stored recording was made."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepscope.model.memory_tables import ALLOCATOR_EVENTS
from stepscope.store.layout import EVENTS_GLOB
from stepscope.store.manifest import DamagedStoreError, read_manifest

_SQL: Final = "SELECT min(ts), max(ts) FROM read_parquet($files)"


def extent(store: Path) -> tuple[int, int] | None:
    """Unix times at which its first and its last event began, in ns; None if its clock has no known origin.

    Raises:
        DamagedStoreError: Its files can't be read.
    """
    import duckdb

    origin = read_manifest(store).origin_unix_ns
    if origin is None:
        return None
    known = []
    with duckdb.connect(":memory:") as connection:
        for pattern in (EVENTS_GLOB, f"{ALLOCATOR_EVENTS.name}.parquet"):
            files = [str(path) for path in sorted(store.glob(pattern))]
            try:
                row = connection.execute(_SQL, {"files": files}).fetchone() if files else None
            except duckdb.Error as error:
                raise DamagedStoreError(store) from error
            if row is not None and row[0] is not None:
                known.append((origin + row[0], origin + row[1]))
    return (min(first for first, _ in known), max(last for _, last in known)) if known else None
