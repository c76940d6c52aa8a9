"""Recognise exports of Nsight Systems. Imported for every input; the reading code only for an export."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepscope.model.errors import UnusableInputError

_SQLITE: Final = b"SQLite format 3\x00"

#: Tables of which an export has at least one beside its strings.
_MARKER_TABLES: Final = frozenset(
    {
        "META_DATA_EXPORT",
        "EXPORT_META_DATA",
        "TARGET_INFO_GPU",
        "TARGET_INFO_SESSION_START_TIME",
        "TARGET_INFO_CUDA_STREAM",
    }
)
_PREFIXES: Final = ("CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS", "OSRT_API")

#: What `nsys profile` writes; only `nsys` itself can read it.
REPORTS: Final = (".nsys-rep", ".qdrep")


def is_export(names: frozenset[str]) -> bool:
    """Whether a database or folder with these tables is an export of Nsight Systems."""
    has_marker = bool(_MARKER_TABLES & names) or any(name.startswith(_PREFIXES) for name in names)
    return has_marker and ("StringIds" in names or any(name.startswith("CUPTI_ACTIVITY_KIND_") for name in names))


def looks_like_export(path: Path, start: bytes) -> bool | None:
    """Whether a file whose content starts with `start` is an SQLite export; None if it is too damaged to say."""
    if not start.startswith(_SQLITE):
        return False
    if b"StringIds" in start and any(marker.encode() in start for marker in (*_MARKER_TABLES, *_PREFIXES)):
        return True
    if not path.is_file():
        return False
    from stepscope.readers.sqlite.tables import SqliteTables

    try:
        tables = SqliteTables(path)
    except UnusableInputError:
        return None
    try:
        return is_export(tables.names()) or (None if tables.damage else False)
    finally:
        tables.close()


def has_export_beside(report: Path) -> bool:
    """Whether a report's own export, which `nsys stats` writes, is in the same folder."""
    beside = (
        report.with_suffix(".sqlite"),
        report.parent / f"{report.stem}_pqtdir",
        report.parent / f"{report.stem}_arwdir",
    )
    return any(path.exists() for path in beside)


def folder_is_export(folder: Path) -> bool:
    """Whether a folder holds an export with a file per table."""
    from stepscope.readers.nsight.folder_tables import table_files

    return is_export(frozenset(table_files(folder)))
