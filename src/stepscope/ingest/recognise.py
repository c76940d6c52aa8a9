"""Which files of an input are recordings, and who reads them."""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepscope.model.errors import UserError
from stepscope.readers import content
from stepscope.readers.ascend import raw as ascend_raw
from stepscope.readers.ascend.reader import AscendReader
from stepscope.readers.kineto.reader import KinetoReader
from stepscope.readers.memsnapshot.reader import MemorySnapshotReader
from stepscope.readers.nsight.reader import NsightReader
from stepscope.readers.protocol import MAYBE, NO, YES, Reader, Source

#: In order of precedence among equally sure readers.
READERS: Final[tuple[Reader, ...]] = (AscendReader(), KinetoReader(), NsightReader(), MemorySnapshotReader())

_HINT: Final = (
    "give a recording of a profiler, such as trace.json or trace.json.gz of torch.profiler, or a folder of them"
)
#: How much of a file is looked at if its beginning leaves the reader in doubt; some have long headers.
_LONG_HEAD: Final = 4 << 20
#: The longer marks first: one begins like another.
_MARKS: Final = (
    (b"\xff\xfe\x00\x00", "UTF-32"), (b"\x00\x00\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)  # fmt: skip
#: A part of every workbook, which is an archive of what is no recording.
_WORKBOOK: Final = "[Content_Types].xml"
#: How stepscope's own reports begin.
_REPORT: Final = re.compile(rb'\s*\{\s*"schema":\s*"stepscope\.')


@dataclass(slots=True)
class Recognised:
    """The recordings in an input, each once, and the files that are none."""

    sources: list[tuple[Source, Reader]] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def is_new(self, path: Path) -> bool:
        """Whether a file or folder is met for the first time, under this name or another.

        Raises:
            OSError: Nothing can be learned about it.
        """
        status = path.stat()
        key = (status.st_dev, status.st_ino)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def recognise(paths: Sequence[Path]) -> Recognised:
    """Find the recordings in files and folders.

    Folders are searched to the bottom. Files that are no recordings are skipped, unless nothing else is given.

    Raises:
        UserError: A path can't be read, or nothing in the input is a recording.
    """
    found = Recognised()
    for path in paths:
        try:
            _add_named(path, found)
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise UserError(f"{path} does not exist", hint="check the path") from error
            raise UserError(
                f"{path} can't be read ({error.strerror})", hint="check the path and its permissions"
            ) from error
    if not found.sources:
        raise UserError(_nothing_in(paths), hint=_what_to_do(paths))
    return found


def holds(paths: Sequence[Path], file: Path) -> bool:
    """Whether an existing file is a recording in one of the folders of an input, or part of one.

    Raises:
        OSError: A folder can't be read.
    """
    place = file.resolve()
    folders = [path for path in paths if path.is_dir() and place.is_relative_to(path.resolve())]
    try:
        sources = recognise(folders).sources if folders else []
    except UserError:
        return False
    for source, _ in sources:
        if source.path.is_dir() and place.is_relative_to(source.path.resolve()):
            return _REPORT.match(content.head(Source(file))) is None
        if source.path.is_file() and source.path.samefile(file):
            return True
    return False


def _nothing_in(paths: Sequence[Path]) -> str:
    if len(paths) == 1 and paths[0].is_file():
        if paths[0].stat().st_size == 0:
            return f"{paths[0]} is empty"
        if _REPORT.match(content.head(Source(paths[0]))):
            return f"{paths[0]} is what stepscope wrote about a recording"
        if _encoding(content.head(Source(paths[0]))):
            return f"{paths[0]} is text in {_encoding(content.head(Source(paths[0])))}"
        return f"{paths[0]} is no recording that stepscope can read"
    return f"{', '.join(map(str, paths))} holds no recording that stepscope can read"


def _encoding(head: bytes) -> str:
    """What a text is encoded in, if its first bytes say that it is not UTF-8; else empty."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), "")


def _what_to_do(paths: Sequence[Path]) -> str:
    encoding = _encoding(content.head(Source(paths[0]))) if len(paths) == 1 and paths[0].is_file() else ""
    if encoding:
        return f"convert it first: iconv -f {encoding} -t UTF-8 {paths[0].name} > converted.json"
    hints = (ascend_raw.hint(path) for path in paths if path.is_dir())
    return next((hint for hint in hints if hint), _HINT)


def _add_named(path: Path, found: Recognised) -> None:
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        _add_folder(path, found)
    elif stat.S_ISREG(mode):
        _add_file(path, found, least=MAYBE)
    else:
        # A pipe would have to be read twice: once to see what it is.
        raise UserError(f"{path} is neither a file nor a folder", hint="save the recording to a file first")


def _add_folder(folder: Path, found: Recognised) -> None:
    if not found.is_new(folder):
        return
    reader = _reader_of(Source(folder), b"", YES)
    if reader is not None:
        found.sources.append((Source(folder), reader))
        return
    for child in sorted(folder.iterdir()):
        if child.name.startswith("."):
            continue
        try:
            if child.is_dir():
                _add_folder(child, found)
            elif child.is_file():
                _add_file(child, found, least=YES)
        except OSError:
            found.skipped.append(child)


def _add_file(path: Path, found: Recognised, least: int) -> None:
    if not found.is_new(path):
        return
    members = content.archive_members(path)
    if _WORKBOOK in members:
        found.skipped.append(path)
        return
    if len(members) > 1:
        least = YES
    for source in [Source(path, member) for member in members] or [Source(path)]:
        head = content.head(source)
        if head.isspace():
            head = content.head(source, _LONG_HEAD).lstrip()
        reader = _reader_of(source, head, least)
        if reader is None and _reader_of(source, head, MAYBE) is not None:
            reader = _reader_of(source, content.head(source, _LONG_HEAD), least)
        if reader is not None:
            found.sources.append((source, reader))
        else:
            found.skipped.append(Path(str(source)))


def _reader_of(source: Source, head: bytes, least: int) -> Reader | None:
    if _REPORT.match(head):
        return None
    sure, reader = max(((r.sniff(source.path, head), r) for r in READERS), key=lambda pair: pair[0])
    return reader if sure >= max(least, NO + 1) else None
