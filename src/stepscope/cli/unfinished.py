"""Unfinished outputs beside their targets, named after their process, so that the next command can remove leftovers."""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from stepscope.model.process.system import lives

#: Between the name of an output and what tells whose it is.
_MARK: Final = ".stepscope-"
_OWNER: Final = re.compile(r"([0-9a-f]{8})-(\d+)-")
#: What was not written to for so long is of a process that was killed, wherever that ran.
_STALE_SECONDS: Final = 3600


def prefix(final: Path) -> str:
    """What the name of an unfinished output of this process begins with."""
    return f"{_of(final)}{_machine()}-{os.getpid()}-"


def remove_leftovers(final: Path) -> None:
    """Remove what killed processes left of the same output, file or folder."""
    with suppress(OSError):
        for left in list(final.parent.iterdir()):
            if left.name.startswith(_of(final)) and _is_abandoned(left):
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink()


def _of(final: Path) -> str:
    return f".{final.name[:100]}{_MARK}"


def _is_abandoned(path: Path) -> bool:
    owner = _OWNER.match(path.name.rsplit(_MARK, 1)[1])
    if owner is not None and owner[1] == _machine():
        return not lives(int(owner[2]))
    return time.time() - path.lstat().st_mtime > _STALE_SECONDS


def _machine() -> str:
    """What processes that know each other by their numbers have in common: the machine, or the container."""
    space = ""
    with suppress(OSError, NotImplementedError):
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - it leads to no path
    return f"{zlib.crc32(f'{socket.gethostname()} {space}'.encode()):08x}"
