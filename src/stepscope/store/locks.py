"""Which stores are in use: locks by name, in one file of the cache, so that thousands need one descriptor."""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from stepscope.model.process.locking import lock, unlock

#: The file whose bytes are locked; it holds nothing.
LOCK_FILE: Final = ".lock"
#: In place of a number of users: somebody in this process has it alone.
_CLAIMED: Final = -1

_GUARD: Final = threading.Lock()


class Locks:
    """Locks by name on what lies in a folder: shared by those who use it, claimed by who removes it.

    They are of the process, not of the object, and are never waited for. A process that ends, however it does, holds
    none. Where a file system knows no locks, everything may be used and nothing be claimed (`work` is false).
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_FILE

    @property
    def work(self) -> bool:
        """Whether names can be claimed here at all."""
        with _GUARD:
            return _opened(self._path).works

    def share(self, name: str) -> bool:
        """Use something together with others; False if somebody has claimed it."""
        with _GUARD:
            held = _opened(self._path)
            users = held.users.get(name, 0)
            if users == _CLAIMED or (users == 0 and not held.lock(name, shared=True)):
                return False
            held.users[name] = users + 1
            return True

    def claim(self, name: str) -> bool:
        """Have something alone; False if anybody uses it, this process included."""
        with _GUARD:
            held = _opened(self._path)
            if not held.works or held.users.get(name) or not held.lock(name, shared=False):
                return False
            held.users[name] = _CLAIMED
            return True

    def release(self, name: str) -> None:
        """Let go of something once: shared as often as it was, claimed at all."""
        with _GUARD:
            held = _opened(self._path)
            users = held.users.get(name, 0)
            if users > 1:
                held.users[name] = users - 1
            elif users:
                del held.users[name]
                held.unlock(name)

    def forget(self) -> None:
        """Close the file, unless something is locked: the folder is going to be removed."""
        with _GUARD:
            key = (os.getpid(), _identity(self._path))
            held = _FILES.get(key)
            if held is not None and not held.users:
                del _FILES[key]
                if held.descriptor >= 0:
                    os.close(held.descriptor)


class _Held:
    """What this process has locked in one file."""

    def __init__(self, path: Path) -> None:
        self.users: dict[str, int] = {}
        self.descriptor = -1
        self.works = False
        for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
            try:
                self.descriptor = os.open(path, flags, 0o666)
            except OSError:
                continue
            self.works = flags != os.O_RDONLY and self._can_lock()
            break

    def lock(self, name: str, *, shared: bool) -> bool:
        """Lock a name; where there are no locks, sharing succeeds."""
        if self.descriptor < 0:
            return shared
        try:
            return lock(self.descriptor, _position(name), shared=shared)
        except OSError:
            return shared

    def unlock(self, name: str) -> None:
        """Let go of a name."""
        if self.descriptor >= 0:
            with suppress(OSError):  # there are no locks
                unlock(self.descriptor, _position(name))

    def _can_lock(self) -> bool:
        try:
            if lock(self.descriptor, 0, shared=True):
                unlock(self.descriptor, 0)
        except OSError:
            return False
        return True


#: Per process and file, by its identity: a folder has several names, and may have been removed and made again.
_FILES: Final[dict[tuple[int, object], _Held]] = {}


def _opened(path: Path) -> _Held:
    key = (os.getpid(), _identity(path))
    if key not in _FILES:
        held = _Held(path)  # which makes the file, if it can
        key = (os.getpid(), _identity(path))
        _FILES.setdefault(key, held)
    return _FILES[key]


def _identity(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return path
    return (status.st_dev, status.st_ino)


def _position(name: str) -> int:
    """A byte of the file for each name. Two names on one byte, of 2^48, would only keep what could be removed."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
