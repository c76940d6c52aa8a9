"""Processes of this user that can be asked for recordings, and the jobs that they make up."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepscope.model.process.system import lives
from stepscope.record.job.watch.control import REPORTED
from stepscope.record.ring.reader import Ring

#: A process may be found to have started so much later than its entry says, as clocks of the system are counted, s.
_CLOCKS_S: Final = 2.0
#: A report of a process that is gone is looked at for so long, s.
_STALE_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class AskableProcess:
    """A process that makes steps, and looks between them whether it is asked.

    Attributes:
        pid: Its number.
        rank: Its rank.
        world_size: Ranks of its job.
        job: What the processes of its job have in common.
        port: Where its ranks meet; empty if they do not.
        reports: Folder in which it says what it recorded.
        program: What it runs.
    """

    pid: int
    rank: int
    world_size: int
    job: str
    port: str
    reports: Path
    program: str


def askable(control: Path) -> list[AskableProcess]:
    """Those that run, by rank; what others have left is removed."""
    found = []
    for path in control.glob("*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            pid, since = int(values["pid"]), int(values["since_unix_ns"]) / 1e9
            if values["host"] != socket.gethostname():
                continue
            started = started_unix_s(pid)
            if not lives(pid) or (started is not None and started > since + _CLOCKS_S):
                for left in (path, path.with_suffix(".ask"), path.with_suffix(".py")):
                    left.unlink(missing_ok=True)
                continue
            rank, size = int(values["rank"]), int(values["world_size"])
            reports, program = Path(values["reports"]), str(values["program"])
            found.append(AskableProcess(pid, rank, size, str(values["job"]), str(values["port"]), reports, program))
    _remove_reports(control / REPORTED)
    return sorted(found, key=lambda one: (one.rank, one.pid))


def _remove_reports(folder: Path) -> None:
    """Remove what processes have left that ended so long ago that nobody waits for it."""
    for path in folder.glob(f"{socket.gethostname()}_*"):
        pid = path.stem.rpartition("_")[2]
        with contextlib.suppress(OSError):
            if pid.isdecimal() and not lives(int(pid)) and time.time() - path.stat().st_mtime > _STALE_S:
                path.unlink()


def job_of(processes: list[AskableProcess], pid: int) -> list[AskableProcess]:
    """The processes of the job that a process is one of, or that run below it, as below a launcher."""
    jobs = {one.job for one in processes if one.pid == pid or pid in _ancestors(one.pid)}
    return [one for one in processes if one.job in jobs]


def started_unix_s(pid: int) -> float | None:
    """When a process started (proc_pid_stat(5)); None where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        for line in Path("/proc/stat").read_text().splitlines():
            if line.startswith("btime "):
                return int(line.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    return None


def runs(ring: Ring) -> bool:
    """Whether the process of a ring still runs, as far as this machine can tell."""
    return ring.about.get("host") == socket.gethostname() and lives(ring.pid)


def _ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        yield pid
