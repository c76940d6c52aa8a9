"""Where queries put on disk what exceeds their memory."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path


def spill_folder(name: str = "stepscope") -> Path:
    """A folder of this process. DuckDB makes it when it has to; it is removed with the process's other leftovers.

    DuckDB itself removes it with the last connection only, which need not be closed when the process ends.
    """
    folder = Path(tempfile.gettempdir()) / f"{name}-{os.getpid()}"
    _remove_at_exit(folder)
    return folder


@cache
def _remove_at_exit(folder: Path) -> None:
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
