"""Fingerprint of a recording's files, from their status and samples of their content."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Bytes hashed per file: all of shorter files, evenly spread samples of longer ones.
_LOOKED_AT: Final = 1 << 20
_SAMPLES: Final = 64

#: Name, size, mtime, ctime and inode of each file.
Status = tuple[tuple[str, int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class FileFingerprint:
    """Fingerprint of a recording's files at one moment.

    Attributes:
        path: The file or folder.
        digest: Hash of paths, status and samples.
        status: Status of each file in the file system.
    """

    path: Path
    digest: str
    status: Status

    def are_unchanged(self) -> bool:
        """Whether the files' status is still the same."""
        return status_of(self.path) == self.status


def contents_of(path: Path) -> FileFingerprint:
    """Fingerprint a file, or all files of a folder.

    Hashes sizes, times and samples spread over the whole length of each file. The ctime is included since programs can
    set the mtime.

    Raises:
        OSError: A file can't be read.
    """
    status = status_of(path)
    digest = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape"))
    for name, size, *times in status:
        digest.update(f"|{name}|{size}|{times}|".encode("utf-8", "surrogateescape"))
        with (path / name if name else path).open("rb", buffering=0) as opened:
            for position, length in _samples(size):
                opened.seek(position)
                digest.update(opened.read(length))
    return FileFingerprint(path, digest.hexdigest(), status)


def status_of(path: Path) -> Status:
    """Status of a file, or of all files of a folder by relative name; empty for a missing path."""
    files = [path]
    if path.is_dir():
        files = sorted(Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    found = []
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue  # removed meanwhile, or a link to nothing
        if file.is_file():
            name = file.relative_to(path).as_posix() if file != path else ""
            found.append((name, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
    return tuple(found)


def _samples(size: int) -> list[tuple[int, int]]:
    """Offset and length of the samples of a file: evenly spread, including its first and last bytes."""
    if size <= _LOOKED_AT:
        return [(0, size)]
    length = _LOOKED_AT // _SAMPLES
    return [((size - length) * sample // (_SAMPLES - 1), length) for sample in range(_SAMPLES)]
