"""What processes that are spawned for work do before any of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stepscope.model.process.leaving import work_for

#: Called by each worker first; functions of modules that are quick to import.
STARTING: Final[list[Callable[[], None]]] = []


def start_work(owner: int, starting: tuple[Callable[[], None], ...]) -> None:
    """Begin as a worker of process `owner`, with what was in its `STARTING`."""
    work_for(owner)
    for one in starting:
        one()
