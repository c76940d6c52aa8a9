"""Read the small files in which Linux shows its counters."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Roots:
    """Where the system's files are; tests put their own in place.

    Attributes:
        proc: Folder of processes and counters.
        sys: Folder of devices.
    """

    proc: str = "/proc"
    sys: str = "/sys"


def text(path: str) -> str:
    """What a file holds; empty if it can't be read: processes end, and systems lack some of them."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - read many times a second
            return file.read()
    except OSError:
        return ""


def numbers(path: str) -> list[int]:
    """The whole numbers that a file begins with."""
    found = []
    for part in text(path).split():
        if not part.lstrip("-").isdecimal():
            break
        found.append(int(part))
    return found


def names(path: str) -> list[str]:
    """What a folder holds, in order; nothing if it can't be read."""
    try:
        return sorted(os.listdir(path))  # noqa: PTH208 - read many times a second
    except OSError:
        return []


def link(path: str) -> str:
    """Where a link leads; empty if it can't be read."""
    try:
        return os.readlink(path)  # noqa: PTH115 - read many times a second
    except OSError:
        return ""
