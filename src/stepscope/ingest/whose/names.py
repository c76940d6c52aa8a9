"""Ranks, workers and times in the names that profilers give to files and folders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stepscope.ingest.inputs import SOURCES

#: Names that a profiler's own trace handler gives, of every reader that knows of one.
_HANDLED: Final = tuple(re.compile(source.file_name) for source in SOURCES.values() if source.file_name)
#: A handler's worker where the user gives none: host name and process id. Numbers in a host name are no ranks.
_PROCESS: Final = re.compile(r".+_\d+")
_RANK: Final = re.compile(r"rank[-_.]?(\d{1,6})(?!\d)", re.IGNORECASE)
_ANY: Final = re.compile(r"(?:rank|worker|local_rank|device|gpu|npu)[-_.]?(\d{1,6})(?!\d)", re.IGNORECASE)


def rank_in(path: Path, above: int) -> int | None:
    """The rank that a name contains, the innermost of the path's last `above` folders and the file."""
    for part in reversed(path.parts[-1 - above :]):
        handled = _handled(part)
        process = handled is not None and _PROCESS.fullmatch(handled["worker"])
        found = (_RANK if process else _ANY).findall(part)
        if found:
            return int(found[0])
    return None


def worker_in(path: Path) -> str | None:
    """The worker that the name of a file or folder contains."""
    found = _handled(path.name)
    return found["worker"] if found else None


def time_in(path: Path) -> int | None:
    """The time that the name of a file or folder contains, in units of its profiler."""
    found = _handled(path.name)
    return int(found["time"]) if found and "time" in found.re.groupindex else None


def _handled(name: str) -> re.Match[str] | None:
    return next((match for pattern in _HANDLED if (match := pattern.fullmatch(name))), None)
