"""Limit the memory that loading takes, in proportion to the bytes read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UnusableInputError

#: Loaded dictionaries take up to 6 bytes per byte read; more than twice that indicates a hostile file.
_PER_BYTE: Final = 12
_ALLOWANCE: Final = 1 << 30
_STATM: Final = Path("/proc/self/statm")


class MemoryGuard:
    """Watch the growth of this process's memory since the guard was created; inactive where that is not available."""

    def __init__(self, label: str, allowance: int = _ALLOWANCE) -> None:
        self._label = label
        self._allowance = allowance
        self._start = resident_bytes()

    def check(self, read: int) -> None:
        """Check that memory is in proportion to the `read` bytes.

        Raises:
            UnusableInputError: It is not.
        """
        if resident_bytes() - self._start > self._allowance + _PER_BYTE * read:
            raise UnusableInputError(
                said("{label} takes far more memory than a snapshot of its size", label=self._label),
                hint="check where it comes from: it may have been made to exhaust the memory",
            )


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not report it."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0
