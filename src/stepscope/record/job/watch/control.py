"""Let this process be found by `stepscope attach`, and asked for recordings, by its user alone."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepscope.record.job.identity import JobProcess

if TYPE_CHECKING:
    from stepscope.record.settings import RecordSettings

#: Folder, in the user's, of the reports of processes that no launcher of ours started.
REPORTED: Final = "reports"


class ControlEntry:
    """The entry of a process that makes steps, in a folder of its user's: `PID.json`, and `PID.ask` that asks.

    Args:
        settings: Where that folder is.

    Attributes:
        asked: What to look at.
    """

    def __init__(self, settings: RecordSettings) -> None:
        self._folder = Path(settings.control)
        self._reports = settings.reports
        self._pid = os.getpid()
        self._made = False
        self.asked = self._folder / f"{self._pid}.ask"

    def steps(self) -> None:
        """This process makes steps: it can be found from the first one on."""
        if self._made:
            return
        self._made = True
        process = JobProcess.current()
        values = {
            "pid": self._pid, "host": socket.gethostname(), "rank": process.rank, "world_size": process.world_size,
            "job": self._job(), "port": os.environ.get("MASTER_PORT", ""), "reports": self._reports,
            "program": " ".join(getattr(sys, "argv", [])[:3])[:2000], "since_unix_ns": time.time_ns(),
        }  # fmt: skip
        path = self._folder / f"{self._pid}.json"
        with contextlib.suppress(OSError):
            if not is_private(self._folder):
                return
            unfinished = path.with_suffix(".unfinished")
            unfinished.touch(mode=0o600)
            unfinished.write_text(json.dumps(values), encoding="utf-8")
            unfinished.replace(path)

    def leave(self) -> None:
        """The process ends."""
        if self._made and os.getpid() == self._pid:
            for path in (self.asked, self._folder / f"{self._pid}.json"):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def _job(self) -> str:
        """What the ranks of a job have in common on this machine."""
        if Path(self._reports).parent != self._folder:
            return self._reports
        # Without a launcher of ours: where the ranks meet, or the group that the shell started.
        place = f"{os.environ.get('MASTER_ADDR', '')}:{os.environ.get('MASTER_PORT', '')}"
        return place if place != ":" else f"group {os.getpgid(0)}"


def control_folder() -> Path:
    """The folder of this user, made if there is none.

    Raises:
        OSError: It can't be made, or is not this user's alone.
    """
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    folder = Path(tempfile.gettempdir()) / f"stepscope-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_private(folder):
        raise PermissionError(errno.EACCES, "it is open to others than you", str(folder))
    return folder


def waiting_settings(folder: Path) -> RecordSettings:
    """What a process does that was not started by `stepscope record`: wait until it is asked.

    Args:
        folder: That of its user.
    """
    from stepscope.record.settings import RecordSettings

    return RecordSettings(
        str(folder / "recordings"), str(folder / REPORTED), scheduled=False, patience_s=0.0, control=str(folder)
    )


def is_private(folder: Path) -> bool:
    """Whether a folder is this user's, and nobody else may look into it or write to it."""
    about = folder.lstat()
    return about.st_uid == os.geteuid() and not about.st_mode & 0o077 and folder.is_dir()
