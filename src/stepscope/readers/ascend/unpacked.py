"""Unpack a file to disk, for libraries that open it by path."""

from __future__ import annotations

from pathlib import Path

from stepscope.readers.content import Damage, on_disk
from stepscope.readers.protocol import Source
from stepscope.store.staging import Staging


def unpacked(source: Source, staging: Staging) -> Path:
    """The path of a source; if packed, that of an unpacked copy, removed with the staging area.

    Raises:
        UnusableInputError: It unpacks to more than the limit.
    """
    damage = Damage()
    path = on_disk(source, staging.folder / "spill" / "unpacked", damage)
    damage.observe(staging)
    return path
