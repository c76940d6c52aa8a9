"""The machine that is looked at: files below a root, an environment, and commands, each of which tests replace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

#: Seconds that a command may take.
_PATIENCE_S: Final = 20.0
#: Bytes of a file that are read.
_MOST: Final = 1 << 20


def output_of(command: Sequence[str]) -> str | None:
    """What a command prints; None if it is not there, fails, or takes too long."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(
            list(command), capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


@dataclass(frozen=True, slots=True)
class Machine:
    """Where facts come from.

    Attributes:
        program: The program and its arguments, which is not run.
        data: Paths that the program reads.
        root: What stands for `/`.
        environ: Environment variables.
        run: Runs a command; returns what it prints, or None.
    """

    program: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    run: Callable[[Sequence[str]], str | None] = output_of

    def path(self, name: str) -> Path:
        """A path of the machine."""
        return self.root / name.lstrip("/")

    def text(self, name: str) -> str | None:
        """The content of a file, without white space around it; None if it can't be read."""
        try:
            with self.path(name).open("rb") as file:
                return file.read(_MOST).decode("utf-8", "replace").strip()
        except OSError:
            return None

    def number(self, name: str) -> int | None:
        """The whole number that a file holds; None if it does not."""
        return whole(self.text(name))

    def names(self, name: str) -> list[str] | None:
        """What a folder holds, by name; None if it can't be read."""
        try:
            return sorted(one.name for one in self.path(name).iterdir())
        except OSError:
            return None


def whole(text: str | None) -> int | None:
    """A whole number, or None."""
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def numbers(text: str | None) -> frozenset[int] | None:
    """The numbers of a list as Linux writes it, as `0-3,8`; None if it is none."""
    if text is None:
        return None
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        low, high = whole(first), whole(last if dash else first)
        if low is None or high is None or high - low > _MOST:
            return None
        found.update(range(low, high + 1))
    return frozenset(found)


def version(text: str | None) -> tuple[int, ...] | None:
    """The numbers of a version, as (2, 13, 0) of `2.13.0+cu130`; None if it starts with none."""
    found: list[int] = []
    for part in (text or "").split("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
        if digits != part:
            break
    return tuple(found) or None
