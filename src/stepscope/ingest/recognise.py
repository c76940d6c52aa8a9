"""Find the recordings in an input, and the reader of each."""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepscope.ingest.refused import Skipped, is_report, nothing_in, of_gone, skipped
from stepscope.ingest.written import Written, is_export, written
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.sizes import SIZES
from stepscope.readers import content
from stepscope.readers.ascend.reader import AscendReader
from stepscope.readers.counters.reader import KernelCountersReader
from stepscope.readers.foreign import foreign_archive, is_foreign
from stepscope.readers.kineto.reader import KinetoReader
from stepscope.readers.machine.reader import MachineReader
from stepscope.readers.memsnapshot.reader import MemorySnapshotReader
from stepscope.readers.nsight.reader import NsightReader
from stepscope.readers.protocol import MAYBE, NO, YES, Reader, Source
from stepscope.readers.xplane.copies import copies
from stepscope.readers.xplane.reader import XplaneReader

#: In order of precedence among equally sure readers.
READERS: Final[tuple[Reader, ...]] = (
    AscendReader(),
    KinetoReader(),
    NsightReader(),
    MemorySnapshotReader(),
    MachineReader(),
    KernelCountersReader(),
    XplaneReader(),
)

#: Bytes examined if a file's first ones leave the reader in doubt; some have long headers.
_LONG_HEAD: Final = 4 << 20
#: So many files may turn out to be none by these, and one more for each recording: each takes 30 ms.
_DOUBTED: Final = 100

#: Files beside each recording that are none, such as logs, which are not counted in the limit.
_OTHER_FILES: Final = 20


Looking = Callable[[Path, int], None]


@dataclass(slots=True)
class Recognised:
    """The distinct recordings in an input, the files that are none, and what stepscope wrote about recordings.

    `copies` hold a recording that one of `sources` holds better. `doubted` files were looked at a second time in vain;
    `looking` is called with each file or folder before it is looked at, and the number of those before it.
    """

    sources: list[tuple[Source, Reader]] = field(default_factory=list)
    copies: list[Source] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    doubted: int = 0
    looking: Looking = lambda *_: None
    _seen: set[tuple[int, int]] = field(default_factory=set)

    @property
    def too_many(self) -> bool:
        """Whether there are more recordings than the limit; the rest of the input need not be searched then."""
        return len(self.sources) > SIZES.recordings

    def is_new(self, path: Path) -> bool:
        """Whether a file or folder was not seen before, under this name or another.

        Raises:
            OSError: It can't be examined.
        """
        status = path.stat()
        key = (status.st_dev, status.st_ino)
        self.looking(path, len(self._seen))
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


class _TooManyFilesError(Exception):
    """An input holds more files that are no recordings than the limit."""


def recognise(paths: Sequence[Path], looking: Looking = lambda *_: None) -> Recognised:
    """Find the recordings in files and folders.

    Folders are searched recursively. Files that are no recordings are skipped, unless nothing else is given.

    Args:
        paths: The files and folders.
        looking: Called with each file or folder before it is looked at, and the number of those before it.

    Raises:
        UserError: A path can't be read, nothing in the input is a recording, or there are more than the limit, of
            recordings or of other files.
    """
    found = Recognised(looking=looking)
    for path in paths:
        try:
            _add_named(path, found)
        except _TooManyFilesError as error:
            raise UserError(
                said(
                    "{path} holds more than {folder_files:,} files that are no recordings",
                    path=path,
                    folder_files=SIZES.folder_files,
                ),
                hint="give the folder of the recordings",
            ) from error
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise UserError(said("{path} does not exist", path=path), hint="check the path") from error
            raise UserError(
                said("{path} can't be read ({strerror})", path=path, strerror=error.strerror),
                hint="check the path and its permissions",
            ) from error
    if found.too_many:
        raise UserError(
            said(
                "{map} holds more recordings than the limit of {recordings:,}",
                map=", ".join(map(str, paths)),
                recordings=SIZES.recordings,
            ),
            hint="give some of them, such as those of the ranks of one node",
        )
    if not found.sources:
        raise nothing_in(paths, found.skipped)
    is_copy = copies((source, reader.name) for source, reader in found.sources)
    found.copies = [source for source, _ in found.sources if is_copy(source)]
    found.sources = [sourced for sourced in found.sources if not is_copy(sourced[0])]
    return found


def is_recording(path: Path) -> bool:
    """Whether a file or folder is a recording by itself, or an archive of some; a folder is not searched.

    Raises:
        OSError: It can't be read.
        UserError: It is packed in a way that is refused.
    """
    if path.is_dir():
        return _reader_of(Source(path), b"", YES) is not None
    found = Recognised()
    _add_file(path, found, least=YES)
    return bool(found.sources)


def holds(paths: Sequence[Path], file: Path) -> bool:
    """Whether an existing file is a recording in one of the folders of an input, or part of one.

    Raises:
        OSError: A folder can't be read.
    """
    place = file.resolve()
    folders = [path for path in paths if path.is_dir() and place.is_relative_to(path.resolve())]
    try:
        found = recognise(folders) if folders else Recognised()
    except UserError:
        return False
    for source in (*(source for source, _ in found.sources), *found.copies):
        if source.path.is_dir() and place.is_relative_to(source.path.resolve()):
            return not is_report(content.head(Source(file)))
        if source.path.is_file() and source.path.samefile(file):
            return True
    return False


def _add_named(path: Path, found: Recognised) -> None:
    mode = path.stat().st_mode
    if is_export(path) or (stat.S_ISREG(mode) and is_report(content.head(Source(path), blanks=False))):
        _add_written(written(path), found)
    elif stat.S_ISDIR(mode):
        _add_folder(path, found)
    elif stat.S_ISREG(mode):
        _add_file(path, found, least=MAYBE)
    else:
        # Recognising a pipe would consume it.
        raise UserError(
            said("{path} is neither a file nor a folder", path=path), hint="save the recording to a file first"
        )


def _add_written(one: Written, found: Recognised) -> None:
    """Add what a report or an export was made of."""
    if not found.is_new(one.path):
        return
    for path in one.recordings:
        if path.is_dir():
            _add_folder(path, found)
        else:
            _add_file(path, found, least=MAYBE)
    if one.recordings:
        found.written.append(one)
    else:
        found.skipped.append(of_gone(one))


def _add_folder(folder: Path, found: Recognised) -> None:
    if not found.is_new(folder):
        return
    reader = _reader_of(Source(folder), b"", YES)
    if reader is not None:
        found.sources.append((Source(folder), reader))
        return
    for child in sorted(folder.iterdir()):
        if found.too_many:
            return
        if len(found.skipped) > SIZES.folder_files + _OTHER_FILES * len(found.sources):
            raise _TooManyFilesError
        if child.name.startswith("."):
            continue
        try:
            if child.is_dir():
                _add_folder(child, found)
            elif child.is_file():
                _add_file(child, found, least=YES)
            elif child.is_symlink():
                found.skipped.append(
                    Skipped(child, said("is a link to nothing"), said("mend the link"), unreadable=True)
                )
        except OSError as error:
            found.skipped.append(
                Skipped(child, said("can't be read ({strerror})", strerror=error.strerror or error), unreadable=True)
            )
        except UserError as error:
            found.skipped.append(Skipped(child, error.message.removeprefix(f"{child} "), error.hint, unreadable=True))


def _add_file(path: Path, found: Recognised, least: int) -> None:
    if not found.is_new(path):
        return
    if not path.stat().st_size:
        found.skipped.append(Skipped(path, said("is empty")))
        return
    names = content.members(path)
    before, other = len(found.sources), len(found.skipped)
    if len(names) > 1:
        least = YES
    for source in [Source(path, name) for name in names] or [Source(path)]:
        if found.too_many:
            return
        damage = content.Damage()
        head = content.head(source, blanks=False, damage=damage)
        sure, reader = _surest(source, head, least)
        doubted = NO < sure < least and len(head) >= content.HEAD_BYTES
        if looked := doubted and found.doubted < _DOUBTED + len(found.sources):
            sure, reader = _surest(source, content.head(source, _LONG_HEAD), least)
            found.doubted += sure < least
        if reader is not None and sure >= least:
            found.sources.append((source, reader))
        elif doubted and not looked:
            found.skipped.append(Skipped(Path(str(source)), said("is no recording by its first 64 KiB")))
        else:
            found.skipped.append(skipped(source, head, damage))
    whole = foreign_archive(names)
    if whole is not None and len(found.sources) == before:
        found.skipped[other:] = [Skipped(path, said("is {what}", what=whole.what), whole.hint)]


def _reader_of(source: Source, head: bytes, least: int) -> Reader | None:
    sure, reader = _surest(source, head, least)
    return reader if sure >= least else None


def _surest(source: Source, head: bytes, least: int) -> tuple[int, Reader | None]:
    """How sure a reader is of what starts so, and which one; NO where it is something known that it would take."""
    sure, reader = max(((one.sniff(source.path, head), one) for one in READERS), key=lambda pair: pair[0])
    return (NO, None) if sure >= least and (is_report(head) or is_foreign(head)) else (sure, reader)
