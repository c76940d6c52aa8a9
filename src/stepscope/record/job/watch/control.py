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
from stepscope.record.noted import noted
from stepscope.record.triggers.request import RecordingRequest

if TYPE_CHECKING:
    from stepscope.record.settings import RecordSettings

#: Nanoseconds after which an entry is written anew: systems remove what lies in a temporary folder for days.
_BETWEEN_NS: Final = 3_600_000_000_000
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
        self._settings = settings
        self._pid = os.getpid()
        self._next = 0
        self.asked = self._folder / f"{self._pid}.ask"

    def steps(self, now: int) -> None:
        """This process makes steps: it can be found from the first one on.

        Args:
            now: Monotonic time in ns.
        """
        if now < self._next:
            return
        self._next = now + _BETWEEN_NS
        process = JobProcess.current()
        values = {
            "pid": self._pid, "host": socket.gethostname(), "rank": process.rank, "world_size": process.world_size,
            "job": self._job(), "port": os.environ.get("MASTER_PORT", ""), "reports": self._settings.reports,
            "program": " ".join(getattr(sys, "argv", [])[:3])[:2000], "since_unix_ns": time.time_ns(),
        }  # fmt: skip
        path = self._folder / f"{self._pid}.json"
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if not is_private(self._folder):
                return
            unfinished = path.with_suffix(".unfinished")
            unfinished.touch(mode=0o600)
            unfinished.write_text(json.dumps(values), encoding="utf-8")
            unfinished.replace(path)

    def request(self) -> RecordingRequest | None:
        """What is asked for, by this user: a folder that was removed may be another one's by now."""
        with contextlib.suppress(OSError):
            if is_private(self._folder):
                return RecordingRequest.read(self.asked)
        return None

    def leave(self) -> None:
        """The process ends."""
        if self._next and os.getpid() == self._pid:
            for path in (self.asked, self._folder / f"{self._pid}.json"):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def _job(self) -> str:
        """What the ranks of a job have in common on this machine."""
        if self._settings.has_launcher:
            return self._settings.reports
        # Without a launcher of ours: where the ranks meet, or the group that the shell started.
        place = f"{os.environ.get('MASTER_ADDR', '')}:{os.environ.get('MASTER_PORT', '')}"
        return place if place != ":" else f"group {os.getpgid(0) if hasattr(os, 'getpgid') else os.getppid()}"


def control_folder() -> Path:
    """The folder of this user, made if there is none.

    Raises:
        OSError: It can't be made, or is not this user's alone.
    """
    folder = Path(tempfile.gettempdir()) / f"stepscope-{_user()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_private(folder):
        raise PermissionError(errno.EACCES, noted("it is open to others than you"), str(folder))
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
    if os.name == "nt":
        # Modes say nothing there, and the temporary folder is within the user's own.
        return folder.is_dir() and not folder.is_symlink()
    return about.st_uid == _user() and not about.st_mode & 0o077 and folder.is_dir()


def _user() -> int:
    """The user of this process; 0, as `stat` says, on systems without such numbers."""
    return os.geteuid() if hasattr(os, "geteuid") else 0
