"""Spill folder for queries that exceed their memory."""

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
    """Path of a folder for DuckDB's spill files, removed at the end of the process.

    DuckDB creates it on demand, and removes it itself only when the last connection is closed.
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
