"""Where the cache lies, how large it may be, and the keys of its stores."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from stepscope.store.contents import FileFingerprint
from stepscope.store.layout import VERSION
from stepscope.store.stamp import code_stamp

_DEFAULT_LIMIT: Final = 20 << 30
#: Size limit of a temporary cache: none.
NO_LIMIT: Final = 2**63


def default_root() -> Path:
    """`$STEPSCOPE_CACHE`, else `stepscope` in the user's cache folder."""
    chosen = os.environ.get("STEPSCOPE_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "stepscope"


def cache_key(contents: FileFingerprint, member: str, reader: str, version: int) -> str:
    """Key of a stored recording: a digest of everything that determines the result of reading it.

    That is its files and their contents, the code that reads, derives and stores, and the versions of the reader and of
    the store's layout.
    """
    made_by = f"{VERSION}|{code_stamp()}|{reader}|{version}"
    return hashlib.sha256(f"{made_by}|{contents.digest}|{member}".encode("utf-8", "surrogateescape")).hexdigest()[:32]


def limit_from_environment() -> int:
    """`$STEPSCOPE_CACHE_LIMIT` in bytes, else 20 GiB."""
    try:
        return int(os.environ["STEPSCOPE_CACHE_LIMIT"])
    except (KeyError, ValueError):
        return _DEFAULT_LIMIT
