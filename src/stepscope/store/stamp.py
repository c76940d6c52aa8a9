"""Fingerprint of the code that makes stores, part of their key."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent.parent
#: Packages that determine what is stored.
_PARTS: Final = ("readers", "ingest", "store", "model")


@cache
def code_stamp() -> str:
    """Fingerprint of the code that reads, derives and stores.

    Hashes the sources once per process (some milliseconds). A version number could be forgotten, and installers set
    times of files arbitrarily.
    """
    return stamp_of(_PACKAGE, _PARTS)


def stamp_of(package: Path, parts: tuple[str, ...]) -> str:
    """Hash of the names and texts of all sources in the folders `parts` of `package`."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        for path in sorted((package / part).rglob("*.py")):
            text = path.read_bytes()
            digest.update(f"{path.relative_to(package).as_posix()}|{len(text)}|".encode())
            digest.update(text)
    return digest.hexdigest()
