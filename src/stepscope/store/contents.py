"""What a recording's files hold, told from a sample: whether they are what was read, and still are when it is."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Files up to this size are looked at whole, and of longer ones pieces that add up to it.
_LOOKED_AT: Final = 1 << 20
_PIECES: Final = 64

#: Of each file its name, size, times of its content and of its attributes, and identity.
Status = tuple[tuple[str, int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Contents:
    """The files of a recording at one moment.

    Attributes:
        path: The file, or the folder whose files they are.
        digest: A text that is another one when the files are.
        status: What the file system says of each file.
    """

    path: Path
    digest: str
    status: Status

    def are_unchanged(self) -> bool:
        """Whether the file system still says the same of the files."""
        return status_of(self.path) == self.status


def contents_of(path: Path) -> Contents:
    """Look at a file, or at all files of a folder.

    Sizes, times and samples spread over the whole length of each file tell one content from another. The time of a
    file's attributes counts, since programs can set that of its content.

    Raises:
        OSError: A file can't be read.
    """
    status = status_of(path)
    digest = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape"))
    for name, size, *times in status:
        digest.update(f"|{name}|{size}|{times}|".encode("utf-8", "surrogateescape"))
        with (path / name if name else path).open("rb", buffering=0) as opened:
            for position, length in _pieces(size):
                opened.seek(position)
                digest.update(opened.read(length))
    return Contents(path, digest.hexdigest(), status)


def status_of(path: Path) -> Status:
    """What the file system says of a file, or of all files of a folder, by their names in it; of none, nothing."""
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


def _pieces(size: int) -> list[tuple[int, int]]:
    """Position and length of what is looked at: evenly spread, the first and the last bytes among them."""
    if size <= _LOOKED_AT:
        return [(0, size)]
    length = _LOOKED_AT // _PIECES
    return [((size - length) * piece // (_PIECES - 1), length) for piece in range(_PIECES)]
