"""Which folder's texts each catalogue has. Catalogues are apart so that people can translate side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "src" / "stepscope"
CATALOGUES: Final = SOURCE / "language"

#: Catalogues and the files and folders of the package whose texts they have; `translation.tables` has those of tables.
ROOMS: Final = {
    "rules": ("rules",),
    "signals": ("signals",),
    "analyses": ("analyses",),
    "model": ("model", "store", "native", "language"),
    "readers": ("readers",),
    "ingest": ("ingest",),
    "reports": ("reports",),
    "cli": ("cli", "profiler.py", "api.py"),
    "record": ("record",),
    "doctor": ("doctor",),
    "planning": ("planning",),
    "trying": ("trying",),
    "comparison": ("comparison", "cluster", "jobs"),
    "simulate": ("simulate",),
    "guide": ("guide",),
    "web": ("web", "agents", "demo"),
    "tables": (),
}
#: Rooms of which every text is translated; those that are not are being worked on.
DONE: Final[tuple[str, ...]] = (
    "rules", "signals", "model", "readers", "ingest", "reports", "cli", "guide", "tables", "comparison", "doctor",
    "web", "planning", "trying", "analyses", "record", "simulate",
)  # fmt: skip


def files(room: str) -> Iterator[Path]:
    """The files of a room, in a fixed order."""
    for place in ROOMS[room]:
        path = SOURCE / place
        yield from sorted(path.rglob("*.py")) if path.is_dir() else (path,)
