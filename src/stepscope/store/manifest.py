"""The manifest of a stored recording: its metadata, and its files with sizes and rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepscope.model.errors import UserError
from stepscope.model.recording import Recording
from stepscope.store.layout import MANIFEST, VERSION

if TYPE_CHECKING:
    import duckdb

_ROWS_SQL: Final = "SELECT file_name, num_rows FROM parquet_file_metadata($files)"


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
    manifest = {"version": VERSION, "recording": recording.to_json(), "files": files}
    (store / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def read_manifest(store: Path) -> Recording:
    """The recording that a store folder holds.

    Raises:
        UserError: The folder is not a store, or one of another version.
    """
    return _read(store)[0]


def is_whole(store: Path) -> bool:
    """Whether a folder is a store of this version with exactly the files and sizes of its manifest."""
    try:
        files = _read(store)[1]
        return files == {path.name: path.stat().st_size for path in store.glob("*.parquet")}
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


def _read(store: Path) -> tuple[Recording, dict[str, int]]:
    """The recording, and the size of each file."""
    try:
        manifest: dict[str, Any] = json.loads((store / MANIFEST).read_text(encoding="utf-8"))
        if manifest["version"] != VERSION:
            raise UserError(f"{store} was written by another version of stepscope", hint="read the recording again")
        sizes = {name: int(file["bytes"]) for name, file in manifest["files"].items()}
        return Recording.from_json(manifest["recording"]), sizes
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{store} is not a stepscope store", hint="give the recording itself") from error


def _rows(paths: list[Path], connection: duckdb.DuckDBPyConnection) -> dict[Path, int]:
    found = connection.execute(_ROWS_SQL, {"files": [str(path) for path in paths]}).fetchall()
    return {Path(name): int(number) for name, number in found}
