"""What a recording of any format lets itself be changed in, and the maps of time that do it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

#: A moment in ns to another one; never turns the order of two moments round.
Warp = Callable[[int], int]

#: Start and end, in ns.
Window = tuple[int, int]


class NotApplicableError(Exception):
    """The recording has nothing that the variant changes."""


class Recording(Protocol):
    """A recording in memory or in a file of its own, to be changed in place."""

    def window(self) -> Window:
        """From its first moment to its last."""

    def steps(self) -> list[Window]:
        """Its marked steps, in order of time; empty without marks."""

    def warp(self, host: Warp, device: Warp) -> None:
        """Move host and device events in time."""

    def cut(self, start: int, end: int) -> None:
        """Leave what a recorder that ran from start to end would have written."""

    def repeat(self, times: int) -> None:
        """Record the whole job so many times, one after the other."""

    def save(self, folder: Path) -> Path:
        """Write it; returns what is to be analysed."""

    def close(self) -> None:
        """Let go of files that are open."""


def unmoved(time: int) -> int:
    """Time as it is."""
    return time


def stretched(window: Window, factor: float) -> Warp:
    """A stretch of time lasts longer, and everything after it comes later."""
    start, end = window
    longer = round((end - start) * (factor - 1))

    def warp(time: int) -> int:
        return time + round(max(0, min(time, end) - start) / max(1, end - start) * longer)

    return warp
