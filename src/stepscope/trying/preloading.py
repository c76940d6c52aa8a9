"""Libraries that a process loads before its own, found on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from stepscope.trying.seen import Seen

_FOLDERS: Final = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
    "/lib/x86_64-linux-gnu", "/lib64", "/opt/conda/lib",
)  # fmt: skip


@cache
def library(names: Sequence[str]) -> str:
    """The first of these files that is on this machine; empty if none is."""
    return next((str(path) for name in names for one in _FOLDERS if (path := Path(one, name)).is_file()), "")


def preloaded(path: str, seen: Seen) -> Mapping[str, str | None]:
    """The variable that has it loaded, beside what it held."""
    given = seen.environment.get("LD_PRELOAD", "")
    return {"LD_PRELOAD": ":".join(filter(None, [path, given]))}
