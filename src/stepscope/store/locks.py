"""Locks by name on stores, as byte locks of one file of the cache, so that they share one descriptor."""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from stepscope.model.process.locking import lock, unlock

#: The file whose bytes are locked; it is empty.
LOCK_FILE: Final = ".lock"
#: In place of a number of users: claimed by this process.
_CLAIMED: Final = -1

_GUARD: Final = threading.Lock()


class Locks:
    """Locks by name on the contents of a folder: shared for use, claimed (exclusive) for removal.

    Locks are non-blocking, belong to the process, not to the object, and end with the process. On file systems
    without locks everything can be shared and nothing claimed (`work` is false).
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_FILE

    @property
    def work(self) -> bool:
        """Whether the file system supports locks."""
        with _GUARD:
            return _opened(self._path).works

    def share(self, name: str) -> bool:
        """Take a shared lock on a name; False if it is claimed."""
        with _GUARD:
            held = _opened(self._path)
            users = held.users.get(name, 0)
            if users == _CLAIMED or (users == 0 and not held.lock(name, shared=True)):
                return False
            held.users[name] = users + 1
            return True

    def claim(self, name: str) -> bool:
        """Take the exclusive lock on a name; False if anybody uses it, this process included."""
        with _GUARD:
            held = _opened(self._path)
            if not held.works or held.users.get(name) or not held.lock(name, shared=False):
                return False
            held.users[name] = _CLAIMED
            return True

    def release(self, name: str) -> None:
        """Release a claim, or one of possibly several shares."""
        with _GUARD:
            held = _opened(self._path)
            users = held.users.get(name, 0)
            if users > 1:
                held.users[name] = users - 1
            elif users:
                del held.users[name]
                held.unlock(name)

    def forget(self) -> None:
        """Close the file before the folder is removed, unless something is locked."""
        with _GUARD:
            key = (os.getpid(), _identity(self._path))
            held = _FILES.get(key)
            if held is not None and not held.users:
                del _FILES[key]
                if held.descriptor >= 0:
                    os.close(held.descriptor)


class _Held:
    """The locks this process holds in one file."""

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
        """Lock a name; without support for locks, sharing succeeds."""
        if self.descriptor < 0:
            return shared
        try:
            return lock(self.descriptor, _position(name), shared=shared)
        except OSError:
            return shared

    def unlock(self, name: str) -> None:
        """Unlock a name."""
        if self.descriptor >= 0:
            with suppress(OSError):  # locks are not supported
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
        held = _Held(path)  # creates the file, if possible
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
    """The byte of the file for a name, by hash; a collision among 2^48 would only keep a removable store."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
