"""Where queries put on disk what exceeds their memory."""

from __future__ import annotations

import secrets
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Final

from stepscope.model.process.scratch import scratch_folder

_GUARD: Final = threading.Lock()


def spill_folder(name: str = "spill") -> Path:
    """A folder in one of this process. DuckDB makes it when it has to; it is removed when the process ends.

    DuckDB itself removes it with the last connection only, which need not be closed when the process ends.
    """
    with _GUARD:
        return _scratch() / name


@cache
def _scratch() -> Path:
    try:
        return scratch_folder()
    except OSError:
        # What needs no more than its memory needs no folder: this one is made, or fails to be, when something does.
        return _place() / f"stepscope-{secrets.token_hex(8)}"


def _place() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except OSError:
        return Path.cwd()
