"""Open an export, unpacking it or converting a report if necessary."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.readers.content import Damage, on_disk
from stepscope.readers.nsight.detection import REPORTS
from stepscope.readers.nsight.folder_tables import FolderTables
from stepscope.readers.nsight.tables import Tables
from stepscope.readers.protocol import Source
from stepscope.readers.sqlite.tables import SqliteTables


@contextmanager
def opened(source: Source, scratch: Path, damage: Damage) -> Iterator[Tables]:
    """Open a source as an export; unpacked and converted files go to the folder `scratch`.

    Raises:
        UnusableInputError: It can't be opened.
    """
    if source.path.is_dir():
        with closing(FolderTables(source.path)) as tables:
            yield tables
    elif source.path.suffix in REPORTS and not source.member:
        with closing(_sqlite(_convert(source.path, scratch / "converted.sqlite"), source)) as tables:
            yield tables
    else:
        path = on_disk(source, scratch / "unpacked.sqlite", damage)
        with closing(_sqlite(path, source)) as tables:
            yield tables


def _sqlite(path: Path, source: Source) -> SqliteTables:
    return SqliteTables(path, hint="export the report again with `nsys export --type sqlite`", label=str(source))


def _convert(report: Path, target: Path) -> Path:
    """Export a report with `nsys`.

    Raises:
        UnusableInputError: There is no `nsys`, or it fails.
    """
    nsys = shutil.which("nsys")
    if nsys is None:
        raise UnusableInputError(
            said(
                "{report} is a report that only Nsight Systems can read, and there is no `nsys` on this machine",
                report=report,
            ),
            hint=said(
                "run `nsys export --type sqlite {name}` where there is one and give the .sqlite file", name=report.name
            ),
        )
    command = [nsys, "export", "--type", "sqlite", "--force-overwrite", "true", "--output", str(target)]
    result = subprocess.run(
        [*command, str(report.resolve())], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    if result.returncode or not target.exists():
        words = (result.stderr or result.stdout).decode("utf-8", "replace").strip().splitlines()
        raise UnusableInputError(
            said(
                "{report} can't be converted: nsys says {words!r}",
                report=report,
                words=words[-1][:200] if words else "nothing",
            ),
            hint="convert it with the version of `nsys` that recorded it, or a newer one",
        )
    return target
