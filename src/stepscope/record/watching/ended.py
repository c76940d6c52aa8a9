"""What processes that have ended leave of a watched job: the latest of it stays."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stepscope.model.process.system import lives
from stepscope.record.ring.reader import Ring
from stepscope.record.watching.jobs import runs

#: Rings of ended processes of this machine that stay: those of a job of 32 ranks that was started again.
RINGS: Final = 32
#: Files of samples of launchers that have ended.
SAMPLES: Final = 4


def remove_ended(rings: Sequence[Ring]) -> None:
    """Remove the oldest rings of this machine's processes that have ended."""
    here = socket.gethostname()
    ended = [ring for ring in rings if ring.about.get("host") == here and not runs(ring)]
    for ring in sorted(ended, key=lambda one: one.written_unix_ns)[:-RINGS]:
        with contextlib.suppress(OSError):
            ring.path.unlink()


def remove_samples(folder: Path) -> None:
    """Remove the oldest samples of the machine whose launchers have ended."""
    ended: list[tuple[float, Path]] = []
    for path in folder.glob(f"{socket.gethostname().split('.')[0] or 'host'}_*.machine.jsonl"):
        pid = path.name.partition(".")[0].rpartition("_")[2]
        with contextlib.suppress(OSError):
            if pid.isdecimal() and not lives(int(pid)):
                ended.append((path.stat().st_mtime, path))
    for _, path in sorted(ended)[:-SAMPLES]:
        with contextlib.suppress(OSError):
            path.unlink()


def not_replaced(rings: Sequence[Ring]) -> list[Ring]:
    """Rings without those of ended processes whose rank another process of their machine has taken over."""
    latest: dict[tuple[object, int], int] = {}
    for ring in rings:
        place = ring.about.get("host"), ring.rank
        latest[place] = max(latest.get(place, 0), ring.since_unix_ns)
    return [ring for ring in rings if runs(ring) or ring.since_unix_ns == latest[ring.about.get("host"), ring.rank]]
