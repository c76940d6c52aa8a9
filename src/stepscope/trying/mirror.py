"""A folder that looks like the program's working folder, and may be written: each run has one of its own.

Folders are made, small files copied, and large ones linked; beside the folder's ancestors everything else is linked, so
that paths with `..` lead where they led. Folders of many files, such as data, are linked as a whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Larger files are linked, not copied, and so is what comes after so much has been copied.
COPIED_BYTES: Final = 64 << 20
TOTAL_BYTES: Final = 1 << 30
#: Folders with more entries are linked, and so is what comes after so many entries.
FOLDER_ENTRIES: Final = 2_000
TOTAL_ENTRIES: Final = 20_000
#: Files of these kinds are copied up to the total: programs write over them.
_CHECKPOINTS: Final = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".npz", ".pkl", ".h5", ".json", ".csv")
_SKIPPED: Final = ("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache")
_LINKED: Final = (".git", "node_modules", "site-packages")


@dataclass(slots=True)
class Mirrored:
    """What a mirror is made of.

    Attributes:
        folder: The working folder of the run.
        copied: Files that were copied.
        linked: Files and folders of the working folder that were linked.
        left_bytes: What may still be copied.
        left_entries: Entries that may still be made.
    """

    folder: Path
    copied: int = 0
    linked: int = 0
    left_bytes: int = TOTAL_BYTES
    left_entries: int = TOTAL_ENTRIES


def mirror(working: Path, root: Path, without: Path) -> Mirrored:
    """Make a mirror.

    Args:
        working: The program's working folder, absolute.
        root: New folder that stands for the root of the file system.
        without: Folder that the mirror leaves out, which holds `root`.
    """
    working = working.resolve()
    target = root.joinpath(*working.parts[1:])
    target.mkdir(parents=True)
    made = Mirrored(target)
    for ancestor in working.parents:
        inside = root.joinpath(*ancestor.parts[1:])
        for entry in _entries(ancestor)[:FOLDER_ENTRIES]:
            link = inside / entry.name
            if not os.path.lexists(link):
                with suppress(OSError):
                    link.symlink_to(entry.path)
    _fill(working, made.folder, made, without.resolve())
    return made


def _fill(source: Path, target: Path, made: Mirrored, without: Path) -> None:
    for entry in _entries(source):
        path = Path(entry.path)
        if entry.name in _SKIPPED or path == without:
            continue
        with suppress(OSError):
            _add(entry, path, target / entry.name, made, without)


def _add(entry: os.DirEntry[str], path: Path, target: Path, made: Mirrored, without: Path) -> None:
    made.left_entries -= 1
    if entry.is_symlink():
        destination = path.readlink()
        target.symlink_to(path if destination.is_absolute() else destination)
    elif (entry.is_dir() and without.is_relative_to(path)) or (entry.is_dir() and not _is_linked(entry, path, made)):
        target.mkdir()
        _fill(path, target, made, without)
    elif entry.is_file() and _is_copied(entry, path, made):
        shutil.copy2(path, target)
        made.left_bytes -= entry.stat().st_size
        made.copied += 1
    elif entry.is_file() or entry.is_dir():
        target.symlink_to(path)
        made.linked += 1


def _is_copied(entry: os.DirEntry[str], path: Path, made: Mirrored) -> bool:
    size = entry.stat().st_size
    small = size <= COPIED_BYTES or path.suffix in _CHECKPOINTS
    return small and size <= made.left_bytes and made.left_entries >= 0


def _is_linked(entry: os.DirEntry[str], path: Path, made: Mirrored) -> bool:
    if entry.name in _LINKED or made.left_entries < 0 or (path / "pyvenv.cfg").exists():
        return True
    return sum(1 for _ in _up_to(path, FOLDER_ENTRIES + 1)) > FOLDER_ENTRIES


def _up_to(folder: Path, most: int) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as found:
        for _, entry in zip(range(most), found, strict=False):
            yield entry.name


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:
        return sorted(found, key=lambda one: one.name)
    return []
