"""A file that must lie unpacked on disk, since a library opens it by its path."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepscope.readers.content import Damage, blocks
from stepscope.readers.protocol import Source
from stepscope.store.staging import Staging

_PACKED: Final = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00")


def unpacked(source: Source, staging: Staging) -> Path:
    """The path of a source; of one that is packed, that of a copy that goes away with the staging area."""
    if not source.member:
        with source.path.open("rb") as file:
            if not file.read(8).startswith(_PACKED):
                return source.path
    damage = Damage()
    target = staging.folder / "spill" / "unpacked"
    with target.open("wb") as file:
        for block in blocks(source, damage, lambda _: None):
            file.write(block)
    for message in damage.messages:
        staging.observe("input-damaged", "error", 1, message, "everything after the damage is missing")
    return target
