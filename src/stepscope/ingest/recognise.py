"""Which files of an input are recordings, and who reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepscope.model.errors import UserError
from stepscope.readers import content
from stepscope.readers.ascend.read import AscendReader
from stepscope.readers.kineto.read import KinetoReader
from stepscope.readers.memsnapshot.read import MemorySnapshotReader
from stepscope.readers.nsight.read import NsightReader
from stepscope.readers.protocol import MAYBE, NO, YES, Reader, Source

#: In order of precedence among equally sure readers.
READERS: Final[tuple[Reader, ...]] = (AscendReader(), KinetoReader(), NsightReader(), MemorySnapshotReader())


@dataclass(slots=True)
class Recognised:
    """The recordings in an input, and the files that are none."""

    sources: list[tuple[Source, Reader]] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)


def recognise(paths: Sequence[Path]) -> Recognised:
    """Find the recordings in files and folders.

    A file that is named must be a recording; in folders, which are searched to the bottom, other files are skipped.

    Raises:
        UserError: A path does not exist, or nothing in the input is a recording.
    """
    found = Recognised()
    for path in paths:
        if not path.exists():
            raise UserError(f"{path} does not exist", hint="check the path")
        if path.is_dir():
            _add_folder(path, found)
        else:
            _add_file(path, found)
    if not found.sources:
        listed = ", ".join(str(path) for path in paths)
        raise UserError(
            f"{listed} holds no recording that stepscope can read",
            hint="give a trace of torch.profiler (.json or .json.gz) or a folder of them",
        )
    return found


def _add_folder(folder: Path, found: Recognised) -> None:
    reader = _reader_of(Source(folder), b"")
    if reader is not None:
        found.sources.append((Source(folder), reader))
        return
    for child in sorted(folder.iterdir()):
        if child.name.startswith("."):
            continue
        if child.is_dir():
            _add_folder(child, found)
        elif child.is_file():
            _add_file(child, found, named=False)


def _add_file(path: Path, found: Recognised, *, named: bool = True) -> None:
    sources = [Source(path, member) for member in content.archive_members(path)] or [Source(path)]
    for source in sources:
        try:
            head = content.head(source)
        except OSError as error:
            if named:
                raise UserError(f"{path} can't be read ({error.strerror})", hint="check its permissions") from error
            head = b""
        reader = _reader_of(source, head, least=MAYBE if named else YES)
        if reader is not None:
            found.sources.append((source, reader))
        else:
            found.skipped.append(path)


def _reader_of(source: Source, head: bytes, least: int = YES) -> Reader | None:
    sure, reader = max(((r.sniff(source.path, head), r) for r in READERS), key=lambda pair: pair[0])
    return reader if sure >= max(least, NO + 1) else None
