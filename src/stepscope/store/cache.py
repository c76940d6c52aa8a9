"""Cache of stored recordings, safe for concurrent processes: an unchanged input is read only once.

A store gets its name by a rename once it is complete, and is immutable from then on. Users of a store hold a shared
lock on its name (`locks.py`); removing it needs the exclusive lock. Processes that need the same store at the same time
may each write it; all use the first one finished.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepscope.model.errors import UserError
from stepscope.model.process.leaving import goes_with_process, stays, unfinished
from stepscope.model.process.scratch import remove_scratch, scratch_folder
from stepscope.store.cache_settings import NO_LIMIT, default_root, limit_from_environment
from stepscope.store.failures import CannotStoreError, storage_failure
from stepscope.store.layout import MANIFEST
from stepscope.store.locks import Locks
from stepscope.store.manifest import is_whole, read_manifest

#: Being written, or being removed.
_TEMPORARY: Final = "tmp-"
#: Complete, but private to this process: its recording was changing, or a damaged store has its name.
_ONCE: Final = "once-"
#: Names of stores; other files in the folder are left alone.
_KEPT_NAME: Final = re.compile("[0-9a-f]{32}")
_LEFT_NAME: Final = re.compile(f"(?:{_TEMPORARY}|{_ONCE})[0-9a-z_]{{8,32}}")
#: Age of unfinished stores that are removed where locks are not supported.
_STALE_SECONDS: Final = 24 * 3600
#: Pause before retrying a rename: a store being removed keeps its name for some milliseconds.
_PATIENCE: Final = 40
_PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored recording: its folder, source, size in bytes and time of last use in Unix seconds."""

    path: Path
    source: str
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class Cleared:
    """Result of clearing: recordings and bytes removed, and recordings that are in use or can't be removed."""

    removed: int = 0
    size: int = 0
    used: int = 0
    refused: int = 0


class Cache:
    """A folder of stored recordings, named by keys of their inputs.

    Stores taken from it or written to it exist until `release`, whatever other processes do.

    Args:
        root: The folder; made when first written to.
        limit: Size in bytes beyond which the least recently used recordings are removed.
    """

    def __init__(self, root: Path | None = None, limit: int | None = None) -> None:
        self.root = root or default_root()
        self.limit = limit if limit is not None else limit_from_environment()
        self._locks = Locks(self.root)
        self._taken: dict[str, Path] = {}
        self._distrusted: set[Path] = set()
        #: Bytes that may be written before the folder is measured again.
        self._room = 0

    @classmethod
    def temporary(cls) -> Cache:
        """A cache of this process in the system's temporary folder; the caller must `remove` it.

        Raises:
            OSError: It can't be created.
        """
        return cls(scratch_folder(), limit=NO_LIMIT)

    def take(self, key: str, name: str = "") -> Path | None:
        """Hold the complete store under `key` until `release`; None if there is none. Updates its time of last use.

        Args:
            key: Key of the store.
            name: Name of its folder if not the key: a store written by another process for this one alone.
        """
        if key in self._taken:
            return self._taken[key]
        name = name or key
        folder = self.root / name
        if folder in self._distrusted or not folder.exists() or not self._locks.share(name):
            return None
        if not is_whole(folder):
            self._locks.release(name)
            return None
        with suppress(OSError):  # a read-only cache can be used
            os.utime(folder / MANIFEST)
        self._taken[key] = folder
        return folder

    def distrust(self, folder: Path) -> None:
        """Ignore a damaged store from now on; a rewritten one replaces it."""
        self._distrusted.add(folder)
        for key, taken in tuple(self._taken.items()):
            if taken == folder:
                del self._taken[key]
                self._locks.release(folder.name)

    @contextmanager
    def writing(self, key: str, keep: Callable[[], bool] = lambda: True) -> Iterator[Path]:
        """A folder to write a store to; held under `key` if the block succeeds, removed if not.

        If another process has finished the same store meanwhile, that one is used.

        Args:
            key: Key of the store.
            keep: Called at the end; returns whether other processes may use the store.

        Raises:
            CannotStoreError: It can't be written.
        """
        name = _TEMPORARY + secrets.token_hex(8)
        folder = self.root / name
        try:
            try:
                self.root.mkdir(parents=True, exist_ok=True)
                self._locks.claim(name)  # before it exists, so that no process removes it as a leftover
                with unfinished(folder):
                    folder.mkdir()
                    yield folder
                self._taken[key] = self._named(folder, key) if keep() else self._for_once(folder)
            except Exception as error:
                if (reason := storage_failure(error, self.root)) is None:
                    raise
                raise CannotStoreError(self.root, reason) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            self._locks.release(name)
        self._keep_to_limit(self._taken[key])

    def release(self) -> None:
        """Release all held stores. They must not be read afterwards: other processes may remove them."""
        while self._taken:
            _, folder = self._taken.popitem()
            self._locks.release(folder.name)
            if folder.name.startswith(_ONCE):
                self._remove(folder)
                stays(folder)

    def remove(self) -> None:
        """Release all stores and remove the whole folder; for temporary caches, which no other process uses."""
        self.release()
        self._locks.forget()
        remove_scratch(self.root)

    def entries(self) -> list[Entry]:
        """All stored recordings, least recently used first."""
        found = []
        for folder in self._folders(_KEPT_NAME):
            try:
                used = folder.stat().st_mtime
                with suppress(OSError):
                    used = (folder / MANIFEST).stat().st_mtime
                found.append(Entry(folder, _source(folder), _size(folder), used))
            except OSError:
                continue  # removed meanwhile
        return sorted(found, key=lambda entry: entry.used)

    def clear(self) -> Cleared:
        """Remove all stores not in use."""
        removed = size = used = refused = 0
        for entry in self.entries():
            if self._remove(entry.path):
                removed, size = removed + 1, size + entry.size
            elif entry.path.exists() and os.access(self.root, os.W_OK):
                used += 1
            elif entry.path.exists():
                refused += 1
        self.remove_leftovers()
        return Cleared(removed, size, used, refused)

    def evict(self) -> int:
        """Remove unfinished leftovers, then least recently used stores beyond the limit; never one in use.

        Returns:
            Bytes of the stores that are left.
        """
        self.remove_leftovers()
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total <= self.limit:
                break
            if self._remove(entry.path):
                total -= entry.size
        return total

    def _keep_to_limit(self, written: Path) -> None:
        """`evict` after a store was written, if the limit may be reached.

        Measuring the folder takes longer the more stores it has: after each of many recordings that is quadratic.
        Half of the room is left to other processes, which measure it too.
        """
        self._room -= _size(written)
        if self._room < 0:
            self._room = (self.limit - self.evict()) // 2

    def _folders(self, names: re.Pattern[str]) -> list[Path]:
        try:
            return sorted(path for path in self.root.iterdir() if names.fullmatch(path.name) and path.is_dir())
        except OSError:
            return []

    def remove_leftovers(self) -> None:
        """Remove unfinished stores of killed processes."""
        for leftover in self._folders(_LEFT_NAME):
            self._remove(leftover)

    def _remove(self, folder: Path) -> bool:
        """Remove a folder not in use, atomically for other processes; returns whether it was removed."""
        if not self._claim(folder):
            return False
        going = self.root / (_TEMPORARY + secrets.token_hex(8))
        try:
            folder.rename(going)
        except OSError:
            return False
        finally:
            self._locks.release(folder.name)
        shutil.rmtree(going, ignore_errors=True)
        return True

    def _claim(self, folder: Path) -> bool:
        if self._locks.work:
            return self._locks.claim(folder.name)
        try:
            return time.time() - folder.stat().st_mtime > _STALE_SECONDS
        except OSError:
            return False

    def _named(self, folder: Path, key: str) -> Path:
        """Rename a written store to its key, unless another process was first; returns its folder."""
        target = self.root / key
        for _ in range(_PATIENCE):
            if not self._locks.share(key):
                time.sleep(_PAUSE_SECONDS)  # the old store of this name is being removed
                continue
            try:
                folder.rename(target)
            except OSError:
                if not target.exists():
                    self._locks.release(key)
                    raise
                if target not in self._distrusted and is_whole(target):
                    return target
                self._locks.release(key)
                if not self._remove(target):
                    break
            else:
                self._distrusted.discard(target)
                return target
        return self._for_once(folder)

    def _for_once(self, folder: Path) -> Path:
        target = self.root / (_ONCE + secrets.token_hex(8))
        self._locks.share(target.name)
        goes_with_process(target)
        folder.rename(target)
        return target


def keys_of(stores: Iterable[tuple[int, Path]]) -> tuple[tuple[int, str], ...]:
    """Ranks and keys of stores; empty if one has no key of its content, such as one that only this process uses."""
    found = tuple((rank, folder.name) for rank, folder in stores)
    return found if all(_KEPT_NAME.fullmatch(name) for _, name in found) else ()


def _source(folder: Path) -> str:
    try:
        return read_manifest(folder).source
    except UserError:
        return "(unreadable)"


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
