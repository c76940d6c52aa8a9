"""Keep the recordings of a watched job within a number and a size: the oldest are removed."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from stepscope.record.triggers.request import REASON


def recordings_in(output: Path) -> list[Path]:
    """Folders of recordings that were made for a reason, the oldest first; their names sort by time."""
    with contextlib.suppress(OSError):
        return sorted(one for one in output.iterdir() if (one / REASON).exists())
    return []


def keep(output: Path, most: int, most_bytes: int) -> list[Path]:
    """Remove the oldest recordings beyond a number or a size; the newest stays whatever its size.

    Returns:
        Those that were removed.
    """
    found = recordings_in(output)
    sizes = [_size(one) for one in found]
    removed = []
    while len(found) > 1 and (len(found) > most or sum(sizes) > most_bytes):
        shutil.rmtree(found[0], ignore_errors=True)
        removed.append(found.pop(0))
        del sizes[0]
    return removed


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(place, name)).st_size  # noqa: PTH116, PTH118
    return total
