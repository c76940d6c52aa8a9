"""Which code makes stores: another one may store something else of the same recording."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent.parent
#: What decides what is stored; the rest works on stores.
_PARTS: Final = ("readers", "ingest", "store", "model")


@cache
def code_stamp() -> str:
    """A text that is another one whenever the code that reads, derives or stores is.

    Reading and hashing these sources takes some milliseconds once per process. Versions that somebody has to raise are
    forgotten; and times of files say nothing, since installers set them as they like.
    """
    return stamp_of(_PACKAGE, _PARTS)


def stamp_of(package: Path, parts: tuple[str, ...]) -> str:
    """A digest of the names and texts of all sources in the folders `parts` of `package`."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        for path in sorted((package / part).rglob("*.py")):
            text = path.read_bytes()
            digest.update(f"{path.relative_to(package).as_posix()}|{len(text)}|".encode())
            digest.update(text)
    return digest.hexdigest()
