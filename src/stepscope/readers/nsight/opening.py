"""From a source to an open export: what kind it is, unpacking, and conversion of reports."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stepscope.model.errors import UnusableInputError
from stepscope.readers.content import Damage, blocks, head
from stepscope.readers.nsight.folder_tables import FolderTables, table_files
from stepscope.readers.nsight.tables import Tables
from stepscope.readers.protocol import Source
from stepscope.readers.sqlite.pages import MAGIC
from stepscope.readers.sqlite.tables import SqliteTables

#: Tables of which an export has at least one beside its strings.
_SIGNS: Final = frozenset(
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
    signs = bool(_SIGNS & names) or any(name.startswith(_PREFIXES) for name in names)
    return signs and ("StringIds" in names or any(name.startswith("CUPTI_ACTIVITY_KIND_") for name in names))


def looks_like_export(path: Path, start: bytes) -> bool | None:
    """Whether a file that begins with `start`, when unpacked, is an export in SQLite; None if it is too damaged."""
    if not start.startswith(MAGIC):
        return False
    if b"StringIds" in start and any(sign.encode() in start for sign in (*_SIGNS, *_PREFIXES)):
        return True
    if not path.is_file():
        return False
    try:
        tables = SqliteTables(path)
    except UnusableInputError:
        return None
    try:
        return is_export(tables.names()) or (None if tables.damage else False)
    finally:
        tables.close()


def has_export_beside(report: Path) -> bool:
    """Whether a report lies beside its own export, which `nsys stats` writes."""
    beside = (
        report.with_suffix(".sqlite"),
        report.parent / f"{report.stem}_pqtdir",
        report.parent / f"{report.stem}_arwdir",
    )
    return any(path.exists() for path in beside)


@contextmanager
def opened(source: Source, scratch: Path, damage: Damage) -> Iterator[Tables]:
    """The export that a source is; what has to be unpacked or converted for it goes to the folder `scratch`.

    Raises:
        UnusableInputError: It can't be opened.
    """
    tables = _open(source, scratch, damage)
    try:
        yield tables
    finally:
        tables.close()


def _open(source: Source, scratch: Path, damage: Damage) -> Tables:
    if source.path.is_dir():
        return FolderTables(source.path)
    if source.path.suffix in REPORTS and not source.member:
        return _sqlite(_convert(source.path, scratch / "converted.sqlite"))
    start = head(source, len(MAGIC))
    with source.path.open("rb") as file:
        plain = not source.member and file.read(len(MAGIC)) == start
    if plain:
        return _sqlite(source.path)
    unpacked = scratch / "unpacked.sqlite"
    with unpacked.open("wb") as target:
        for block in blocks(source, damage, lambda _: None):
            target.write(block)
    return _sqlite(unpacked)


def _sqlite(path: Path) -> SqliteTables:
    return SqliteTables(path, hint="export the report again with `nsys export --type sqlite`")


def _convert(report: Path, target: Path) -> Path:
    """Let `nsys` export a report.

    Raises:
        UnusableInputError: There is no `nsys`, or it can't.
    """
    nsys = shutil.which("nsys")
    if nsys is None:
        raise UnusableInputError(
            f"{report} is a report that only Nsight Systems can read, and there is no `nsys` on this machine",
            hint=f"run `nsys export --type sqlite {report.name}` where there is one and give the .sqlite file",
        )
    command = [nsys, "export", "--type", "sqlite", "--force-overwrite", "true", "--output", str(target)]
    result = subprocess.run(
        [*command, str(report.resolve())], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    if result.returncode or not target.exists():
        said = (result.stderr or result.stdout).decode("utf-8", "replace").strip().splitlines()
        raise UnusableInputError(
            f"{report} can't be converted: nsys says {said[-1][:200] if said else 'nothing'!r}",
            hint="convert it with the version of `nsys` that recorded it, or a newer one",
        )
    return target


def folder_is_export(folder: Path) -> bool:
    """Whether a folder holds an export with a file per table."""
    return is_export(frozenset(table_files(folder)))
