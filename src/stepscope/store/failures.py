"""Recognise failures to write a store (disk full, read-only) among other errors."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UserError

_FULL_NAMES: Final = ("ENOSPC", "EDQUOT", "EFBIG")
_OTHER_NAMES: Final = ("EROFS", "EACCES", "EPERM", "EIO", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EEXIST", "ENOENT")

#: errno values of a full file system, which count anywhere, and of an unwritable one, which count below the store.
FULL: Final = tuple(getattr(errno, name) for name in _FULL_NAMES if hasattr(errno, name))
_REASONS: Final = (*FULL, *(getattr(errno, name) for name in _OTHER_NAMES))


class CannotStoreError(UserError):
    """A store can't be written to a folder.

    Args:
        folder: The folder.
        reason: The file system's message, such as `No space left on device`.
    """

    def __init__(self, folder: Path | str, reason: str = "") -> None:
        super().__init__(
            said("{folder} can't be written ({reason})", folder=folder, reason=reason),
            hint="choose another folder with --store",
        )
        self.args = (folder, reason)
        self.reason = reason


def storage_failure(error: Exception, root: Path) -> str | None:
    """The file system's message if the error means that nothing can be written below `root`; else None."""
    import duckdb

    if isinstance(error, CannotStoreError):
        return None
    if type(error).__name__ == "FileCreateError" and error.args and isinstance(error.args[0], OSError):
        error = error.args[0]  # XlsxWriter wraps the OSError
    if isinstance(error, OSError):
        where = [str(name) for name in (error.filename, error.filename2) if name is not None]
        below = any(name.startswith(str(root)) or str(root).startswith(name) for name in where)
        if error.errno is not None:
            refused = error.errno in FULL or (error.errno in _REASONS and below)
            # Arrow surrounds the system's message with other text.
            return os.strerror(error.errno) if refused else None
    if isinstance(error, (OSError, duckdb.IOException, duckdb.OutOfMemoryException)):
        # DuckDB and Arrow quote the system's message; spilling needs room on disk, too.
        for code in _REASONS:
            if os.strerror(code) in str(error) and (code in FULL or str(root) in str(error)):
                return os.strerror(code)
        if "max_temp_directory_size" in str(error):
            return os.strerror(errno.ENOSPC)
    return None
