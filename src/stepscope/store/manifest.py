"""The manifest of a stored recording: its metadata, when its first and last event start, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.recording import Recording
from stepscope.model.tables.memory import ALLOCATOR_EVENTS
from stepscope.store.layout import EVENTS_GLOB, MANIFEST, VERSION

if TYPE_CHECKING:
    import duckdb

_ROWS_SQL: Final = "SELECT file_name, num_rows FROM parquet_file_metadata($files)"
#: From statistics, without reading rows.
_EXTENT_SQL: Final = (
    "SELECT min(stats_min_value::BIGINT), max(stats_max_value::BIGINT) FROM parquet_metadata($files) "
    "WHERE path_in_schema = 'ts'"
)


class DamagedStoreError(Exception):
    """A store differs from its manifest.

    Args:
        store: Its folder.
    """

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        self.store = store


def write_manifest(store: Path, recording: Recording, connection: duckdb.DuckDBPyConnection) -> None:
    """Write the manifest of a store whose other files are complete."""
    rows = _rows(sorted(store.glob("*.parquet")), connection)
    files = {path.name: {"bytes": path.stat().st_size, "rows": number} for path, number in rows.items()}
    manifest = {
        "version": VERSION,
        "recording": recording.to_json(),
        "starts": _starts(store, connection),
        "files": files,
    }
    (store / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def read_manifest(store: Path) -> Recording:
    """The recording that a store folder holds.

    Raises:
        UserError: The folder is not a store, or one of another version.
    """
    return _read(store).recording


def extent(store: Path) -> tuple[int, int] | None:
    """Unix times at which a recording's first and its last event began, in ns; None if its clock has no known origin.

    Raises:
        UserError: The folder is not a store, or one of another version.
    """
    manifest = _read(store)
    starts, origin = manifest.starts, manifest.recording.origin_unix_ns
    return None if starts is None or origin is None else (origin + starts[0], origin + starts[1])


def is_whole(store: Path) -> bool:
    """Whether a folder is a store of this version with exactly the files and sizes of its manifest."""
    try:
        return _read(store).sizes == {path.name: path.stat().st_size for path in store.glob("*.parquet")}
    except (OSError, UserError):
        return False


def check_rows(store: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Compare the row counts of a store's files with the manifest.

    Raises:
        DamagedStoreError: They differ, or a file can't be read.
    """
    import duckdb

    try:
        listed = json.loads((store / MANIFEST).read_text(encoding="utf-8"))["files"]
        rows = _rows([store / name for name in listed], connection)
    except (OSError, ValueError, KeyError, duckdb.Error) as error:
        raise DamagedStoreError(store) from error
    if {path.name: number for path, number in rows.items()} != {name: file["rows"] for name, file in listed.items()}:
        raise DamagedStoreError(store)


class _Manifest(NamedTuple):
    """The recording, the size of each file, and the times of the first and the last event's start."""

    recording: Recording
    sizes: dict[str, int]
    starts: tuple[int, int] | None


def _read(store: Path) -> _Manifest:
    try:
        manifest: dict[str, Any] = json.loads((store / MANIFEST).read_text(encoding="utf-8"))
        if manifest["version"] != VERSION:
            raise UserError(
                said("{store} was written by another version of stepscope", store=store),
                hint="read the recording again",
            )
        sizes = {name: int(file["bytes"]) for name, file in manifest["files"].items()}
        known = manifest.get("starts")
        starts = None if known is None else (int(known[0]), int(known[1]))
        return _Manifest(Recording.from_json(manifest["recording"]), sizes, starts)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            said("{store} is not a stepscope store", store=store), hint="give the recording itself"
        ) from error


def _rows(paths: list[Path], connection: duckdb.DuckDBPyConnection) -> dict[Path, int]:
    found = connection.execute(_ROWS_SQL, {"files": [str(path) for path in paths]}).fetchall()
    return {Path(name): int(number) for name, number in found}


def _starts(store: Path, connection: duckdb.DuckDBPyConnection) -> list[int] | None:
    """When the first and the last event or change of memory begin, in ns since the origin."""
    patterns = (EVENTS_GLOB, f"{ALLOCATOR_EVENTS.name}.parquet")
    files = [str(path) for pattern in patterns for path in sorted(store.glob(pattern))]
    row = connection.execute(_EXTENT_SQL, {"files": files}).fetchone() if files else None
    return None if row is None or row[0] is None else [int(row[0]), int(row[1])]
