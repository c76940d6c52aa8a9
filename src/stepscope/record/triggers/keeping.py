"""Keep the recordings of a watched job within a number and a size: the oldest are removed."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Final

from stepscope.record.triggers.request import REASON

#: Characters of a folder's name that say in which second it was made: `20261124-113217`.
_SECOND: Final = 15


def recordings_in(output: Path) -> list[Path]:
    """Folders of recordings that were made for a reason, the oldest first."""
    with contextlib.suppress(OSError):
        return sorted((one for one in output.iterdir() if (one / REASON).exists()), key=_made)
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


def _made(folder: Path) -> tuple[str, int, str]:
    """Sorts by time: names begin with the second, within which steps and kinds of reasons would not sort."""
    made = 0
    with contextlib.suppress(OSError):
        made = os.stat(folder / REASON).st_mtime_ns  # noqa: PTH116
    return folder.name[:_SECOND], made, folder.name


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(place, name)).st_size  # noqa: PTH116, PTH118
    return total
