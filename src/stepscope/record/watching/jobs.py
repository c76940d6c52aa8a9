"""Processes of this user that can be asked for recordings, and the jobs that they make up."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

#: A process may be found to have started so much later than its entry says, as clocks of the system are counted, s.
_CLOCKS_S: Final = 2.0


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
            if not is_there(pid) or (started is not None and started > since + _CLOCKS_S):
                path.unlink(missing_ok=True)
                path.with_suffix(".ask").unlink(missing_ok=True)
                continue
            rank, size = int(values["rank"]), int(values["world_size"])
            reports, program = Path(values["reports"]), str(values["program"])
            found.append(AskableProcess(pid, rank, size, str(values["job"]), str(values["port"]), reports, program))
    return sorted(found, key=lambda one: (one.rank, one.pid))


def job_of(processes: list[AskableProcess], pid: int) -> list[AskableProcess]:
    """The processes of the job that a process is one of, or that run below it, as below a launcher."""
    jobs = {one.job for one in processes if one.pid == pid or pid in _ancestors(one.pid)}
    return [one for one in processes if one.job in jobs]


def is_there(pid: int) -> bool:
    """Whether there is such a process, whoever's."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def started_unix_s(pid: int) -> float | None:
    """When a process started (proc_pid_stat(5)); None where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        for line in Path("/proc/stat").read_text().splitlines():
            if line.startswith("btime "):
                return int(line.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    return None


def _ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        yield pid
