"""Find the runs below a folder: folders with recordings, looked at no deeper and no longer than a limit says."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from stepscope.ingest.recognise import is_recording
from stepscope.ingest.whose.names import worker_in
from stepscope.model.errors import UserError

#: Folders of one rank each, whose recordings belong to the run that holds them.
_OF_A_RANK: Final = re.compile(r"(?:rank|worker|local_rank|device|gpu|npu|node|host)[-_.]?\d{1,6}", re.IGNORECASE)

#: Size, time and whether it is a recording.
_Looked = tuple[int, int, bool]


@dataclass(frozen=True, slots=True)
class Limits:
    """How far folders are searched.

    Attributes:
        depth: Folders below the first one.
        entries: Files and folders looked at.
        runs: Runs that are listed.
    """

    depth: int = 8
    entries: int = 50_000
    runs: int = 1000


@dataclass(frozen=True, slots=True)
class Run:
    """Recordings that belong together.

    Attributes:
        name: Their folder, relative to the one that is searched; `.` for that one itself.
        paths: The files, and folders that are one recording, in order of names.
        changed: When the last of them was changed, Unix time in ns.
        stamp: Another one whenever a file is added, removed or changed.
    """

    name: str
    paths: tuple[Path, ...]
    changed: int
    stamp: str

    @property
    def key(self) -> str:
        """What it is called in addresses, so that these hold no path: the same in every process."""
        return hashlib.blake2b(self.name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """The runs below a folder, by name, and whether a limit left some out."""

    runs: tuple[Run, ...] = ()
    more: bool = False


@dataclass(slots=True)
class Finder:
    """Searches a folder again and again; of a file that has not changed it remembers what it is.

    Attributes:
        root: The folder; None for none, in which nothing is found.
        limits: How far it is searched.
    """

    root: Path | None
    limits: Limits = field(default_factory=Limits)
    _known: dict[Path, _Looked] = field(default_factory=dict)

    def find(self) -> FoundRuns:
        """The runs that are there now."""
        if self.root is None:
            return FoundRuns()
        groups: defaultdict[str, list[tuple[Path, int, int]]] = defaultdict(list)
        before, self._known = self._known, {}
        left, entered, looked_at = deque([(self.root, 0)]), set[tuple[int, int]](), 0
        more = False
        while left:
            folder, depth = left.popleft()
            if depth > self.limits.depth or looked_at > self.limits.entries:
                more = True
                break  # the folders that are left are as deep or deeper
            for path, status in _children(folder, entered, self.limits.entries + 1 - looked_at):
                looked_at += 1
                if self._is_one(path, status, before):
                    groups[_run_of(path.relative_to(self.root))].append((path, status.st_size, status.st_mtime_ns))
                elif stat.S_ISDIR(status.st_mode):
                    left.append((path, depth + 1))
        listed = sorted(groups.items())[: self.limits.runs]
        more |= looked_at > self.limits.entries or len(listed) < len(groups)
        return FoundRuns(tuple(_run(name, files) for name, files in listed), more)

    def _is_one(self, path: Path, status: os.stat_result, before: Mapping[Path, _Looked]) -> bool:
        if stat.S_ISDIR(status.st_mode):
            return _is_one(path)
        known = before.get(path)
        if known is None or known[:2] != (status.st_size, status.st_mtime_ns):
            known = status.st_size, status.st_mtime_ns, stat.S_ISREG(status.st_mode) and _is_one(path)
        self._known[path] = known
        return known[2]


def _run_of(path: Path) -> str:
    """The name of the run that a recording belongs to, by its path below the folder that is searched."""
    parts = list(path.parts[:-1])
    while parts and _OF_A_RANK.fullmatch(parts[-1]):
        parts.pop()
    return "/".join(parts) or "."


def _children(folder: Path, entered: set[tuple[int, int]], most: int) -> Iterator[tuple[Path, os.stat_result]]:
    """Files and folders in a folder, unless it was entered before, as by a link to a folder above."""
    try:
        status = folder.stat()
        if (place := (status.st_dev, status.st_ino)) in entered:
            return
        entered.add(place)
        with os.scandir(folder) as children:
            names = sorted(child.name for child in islice(children, most))
    except OSError:
        return  # removed meanwhile, or not to be read
    for name in names:
        if not name.startswith("."):
            with suppress(OSError):
                yield folder / name, (folder / name).stat()


def _is_one(path: Path) -> bool:
    """Whether a file or folder is a recording, or has the name of one: opening it then says what is wrong with it."""
    if worker_in(path) is not None:
        return True
    try:
        return is_recording(path)
    except (OSError, UserError):
        return False


def _run(name: str, files: list[tuple[Path, int, int]]) -> Run:
    stamp = hashlib.blake2b(repr([(str(path), *rest) for path, *rest in files]).encode("utf-8", "backslashreplace"))
    return Run(name, tuple(path for path, *_ in files), max(changed for *_, changed in files), stamp.hexdigest())
