"""Temporary folders of this process; those left by killed processes are removed."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from stepscope.model.process.leaving import made_to_go, stays
from stepscope.model.process.locking import lock

_PREFIX: Final = "stepscope-"
#: Names that `mkdtemp` makes with our prefix; other names are not ours.
_NAME: Final = re.compile(_PREFIX + "[a-z0-9_]{8}")
_LOCK: Final = "lock"
#: Of each folder of this process its lock and the process: looking at its own lock would release it, and a process
#: that is forked off owns nothing.
_OWN: Final[dict[Path, tuple[int, int]]] = {}
_GUARD: Final = threading.Lock()


def scratch_folder() -> Path:
    """A new folder accessible to this user only, removed by `remove_scratch` or at the end of the process.

    Also removes folders of killed processes: those whose lock nobody holds.

    Raises:
        OSError: There is no place for it.
    """
    with _GUARD:
        _remove_leftovers(Path(tempfile.gettempdir()))
        while True:
            folder = made_to_go(lambda: Path(tempfile.mkdtemp(prefix=_PREFIX)))
            try:
                descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                stays(folder)
                continue  # somebody saw it without its lock, and has removed it
            except OSError:
                folder.rmdir()
                stays(folder)
                raise
            if _locked(descriptor) is not False and _is(descriptor, folder / _LOCK):
                break
            stays(folder)
            os.close(descriptor)  # somebody is removing it
        if not _OWN:
            atexit.register(_remove_all)
        _OWN[folder] = (descriptor, os.getpid())
        return folder


def remove_scratch(folder: Path) -> None:
    """Remove a folder of this process."""
    descriptor, owner = _OWN.pop(folder, (-1, 0))
    if owner == os.getpid():
        _remove(folder)
        stays(folder)
        os.close(descriptor)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: who is killed meanwhile leaves one that the next process knows."""
    with suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208
            if name != _LOCK:
                shutil.rmtree(folder / name, ignore_errors=True)
                with suppress(OSError):
                    (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_all() -> None:
    for folder in tuple(_OWN):
        remove_scratch(folder)


def _remove_leftovers(parent: Path) -> None:
    """Remove this user's folders that no process holds."""
    try:
        with os.scandir(parent) as entries:
            found = [Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for folder in found:
        if folder in _OWN or not _is_mine(folder):
            continue
        try:
            descriptor = os.open(folder / _LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        except OSError:
            # Of who was killed before it had made its lock; anything else that is in a folder is somebody's own.
            with suppress(OSError):
                folder.rmdir()
            continue
        try:
            if _locked(descriptor):
                _remove(folder)
        finally:
            os.close(descriptor)


def _locked(descriptor: int) -> bool | None:
    """Take a folder's lock; False if another process holds it, None where the file system has no locks."""
    try:
        return lock(descriptor, 0)
    except OSError:
        return None


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _is_mine(folder: Path) -> bool:
    """Whether it is a real folder (no link) owned by this user."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return folder.is_dir() and not folder.is_symlink() and status.st_uid == getattr(os, "getuid", lambda: 0)()
