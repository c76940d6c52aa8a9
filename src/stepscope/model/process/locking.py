"""Locks between processes: on single bytes of a file, never waited for, and gone with the process however it ends.

POSIX record locks belong to a process: closing any of its descriptors of the file lets go of all of them. Who uses
them keeps one descriptor per file, and knows by itself what this process has locked.
"""

from __future__ import annotations

import sys
from typing import Final

if sys.platform == "win32":
    import msvcrt
    import os

    #: Windows knows no shared locks: each process that shares a lock takes one byte of these, who claims it takes all.
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
        begin = position * _SHARERS
        for first, size in ((begin, _SHARERS), *((begin + slot, 1) for slot in range(_SHARERS))):
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
