"""Non-blocking locks between processes on single bytes of a file, released when the process ends.

POSIX record locks belong to a process, and closing any of its descriptors of a file releases all its locks on it:
callers keep one descriptor per file and track which locks this process holds.
"""

from __future__ import annotations

import sys
from typing import Final

if sys.platform == "win32":
    import msvcrt
    import os

    #: Windows has no shared locks: a process sharing a lock takes one of these bytes, an exclusive lock takes all.
    _SHARERS: Final = 64

    def lock(descriptor: int, position: int, *, shared: bool = False) -> bool:
        """Lock a position for this process alone, or with all others that share it; False if somebody is against it.

        Raises:
            OSError: The file system knows no locks.
        """
        if not shared:
            return _take(descriptor, position * _SHARERS, _SHARERS)
        return any(_take(descriptor, position * _SHARERS + slot, 1) for slot in range(_SHARERS))

    def unlock(descriptor: int, position: int) -> None:
        """Let go of a position that this process has locked."""
        start = position * _SHARERS
        for first, size in ((start, _SHARERS), *((start + slot, 1) for slot in range(_SHARERS))):
            os.lseek(descriptor, first, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_UNLCK, size)
            except OSError:
                continue  # it is another of these that is locked
            return

    def _take(descriptor: int, position: int, size: int) -> bool:
        os.lseek(descriptor, position, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, size)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def lock(descriptor: int, position: int, *, shared: bool = False) -> bool:
        """Lock a position for this process alone, or with all others that share it; False if somebody is against it.

        Raises:
            OSError: The file system knows no locks, or the file is not open for writing and the lock is not shared.
        """
        try:
            fcntl.lockf(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB, 1, position)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def unlock(descriptor: int, position: int) -> None:
        """Let go of a position that this process has locked."""
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, position)
