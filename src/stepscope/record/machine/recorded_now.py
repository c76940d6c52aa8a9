"""Which processes of this machine are ranks, and whether one is recorded right now, from what they report."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from stepscope.model.process.system import lives


class RecordedRanks:
    """Looks at the reports of a job's processes.

    Args:
        folder: Where they write them.

    Attributes:
        pids: Processes that have recorded something, or do.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changed = 0
        self._running: dict[int, bool] = {}
        self.pids: frozenset[int] = frozenset()

    def recording(self) -> bool:
        """Whether a rank is recorded."""
        self._look()
        return any(self._running.values())

    def began(self) -> bool:
        """Whether one is now that was not when last looked at."""
        before = any(self._running.values())
        return self.recording() and not before

    def _look(self) -> None:
        try:
            # A report replaces the former one by a rename, which changes the folder.
            changed = self._folder.stat().st_mtime_ns
        except OSError:
            return
        if changed == self._changed:
            return
        self._changed = changed
        for path in self._folder.glob("*.json"):
            try:
                report = json.loads(path.read_text(encoding="utf-8"))
                if report["host"] != socket.gethostname():
                    continue
                pid = int(report["pid"])
                self._running[pid] = report["first"] >= 0 and report["stop"] < 0 and lives(pid)
            except (OSError, ValueError, KeyError, TypeError):
                continue
        self.pids = frozenset(self._running)
