"""Stored recordings, kept so that an unchanged input is read only once."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from stepscope.model.errors import UserError
from stepscope.store.layout import MANIFEST, VERSION
from stepscope.store.opening import read_manifest
from stepscope.store.stamp import code_stamp

_SAMPLE_BYTES: Final = 1 << 16
_DEFAULT_LIMIT: Final = 20 << 30
_TEMPORARY: Final = "tmp-"
#: An unfinished store of this age belongs to a process that died.
_STALE_SECONDS: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored recording: its folder, source, size in bytes and time of last use in Unix seconds."""

    path: Path
    source: str
    size: int
    used: float


class Cache:
    """A folder of stored recordings, named by what they were read from.

    Args:
        root: The folder; made when first written to.
        limit: Size in bytes beyond which the least recently used recordings are removed.
    """

    def __init__(self, root: Path | None = None, limit: int | None = None) -> None:
        self.root = root or default_root()
        self.limit = limit if limit is not None else _limit_from_environment()

    def find(self, key: str) -> Path | None:
        """The folder stored under `key`, or None. Finding it counts as a use."""
        manifest = self.root / key / MANIFEST
        try:
            os.utime(manifest)
        except OSError:
            return None
        return manifest.parent

    @contextmanager
    def writing(self, key: str) -> Iterator[Path]:
        """A folder to write to, which takes its place under `key` if the block succeeds and vanishes if not."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            temporary = Path(mkdtemp(prefix=_TEMPORARY, dir=self.root))
        except OSError as error:
            raise UserError(
                f"the store {self.root} can't be written ({error.strerror})",
                hint="choose another with --store",
            ) from error
        try:
            yield temporary
            target = self.root / key
            shutil.rmtree(target, ignore_errors=True)
            temporary.replace(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self.evict(keep=key)

    def entries(self) -> list[Entry]:
        """All stored recordings, least recently used first."""
        found = []
        for manifest in self.root.glob(f"*/{MANIFEST}"):
            if manifest.parent.name.startswith(_TEMPORARY):
                continue
            try:
                source = read_manifest(manifest.parent).source
            except UserError:
                source = "(unreadable)"
            used = manifest.stat().st_mtime
            found.append(Entry(manifest.parent, source, _size(manifest.parent), used))
        return sorted(found, key=lambda entry: entry.used)

    def clear(self) -> int:
        """Remove everything; returns the number of recordings removed."""
        entries = self.entries()
        for entry in entries:
            shutil.rmtree(entry.path, ignore_errors=True)
        for leftover in self.root.glob(f"{_TEMPORARY}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        return len(entries)

    def evict(self, keep: str = "") -> None:
        """Remove what died unfinished, then the least recently used beyond the limit, but never `keep`."""
        for leftover in self.root.glob(f"{_TEMPORARY}*"):
            if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(leftover, ignore_errors=True)
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total <= self.limit:
                return
            if entry.path.name != keep:
                shutil.rmtree(entry.path, ignore_errors=True)
                total -= entry.size


def default_root() -> Path:
    """`$STEPSCOPE_CACHE`, else `stepscope` in the user's cache folder."""
    chosen = os.environ.get("STEPSCOPE_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "stepscope"


def cache_key(path: Path, member: str, reader: str, version: int) -> str:
    """What a stored recording is named by: everything that can change what reading it gives.

    That is the path, size and modification time of each file, a sample of its content (first and last 64 KiB),
    and the code that reads, derives and stores, with the versions of the reader and of the store's layout.
    """
    made_by = f"{VERSION}|{code_stamp()}|{reader}|{version}"
    digest = hashlib.sha256(f"{made_by}|{path.resolve()}|{member}".encode())
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        status = file.stat()
        digest.update(f"|{file.name}|{status.st_size}|{status.st_mtime_ns}|".encode())
        if len(files) == 1:
            with file.open("rb") as opened:
                digest.update(opened.read(_SAMPLE_BYTES))
                opened.seek(max(0, status.st_size - _SAMPLE_BYTES))
                digest.update(opened.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:32]


def _limit_from_environment() -> int:
    try:
        return int(os.environ["STEPSCOPE_CACHE_LIMIT"])
    except (KeyError, ValueError):
        return _DEFAULT_LIMIT


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
