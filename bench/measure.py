"""Run a command and say how long it took and how much memory it held."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: wall and processor seconds, peak resident memory in MB, both with children, and what it printed."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    output: str


def measure(command: Sequence[str], environment: dict[str, str] | None = None) -> Measured:
    """Run a command to its end. Python keeps compiled modules, as an installation does.

    Raises:
        RuntimeError: The command failed; the message holds the end of what it said.
    """
    start = time.perf_counter()
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = _children_cpu()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**own, **(environment or {})}
    )
    peak = 0.0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, _resident_mb(process.pid))
            done.wait(0.02)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} ... failed: {output[-2000:]}")
    return Measured(seconds, _children_cpu() - before, peak, output)


def _children_cpu() -> float:
    """Processor time of all processes started here that have ended, in s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def warm(path: Path) -> None:
    """Read a file, so that what is measured next need not wait for the disk."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def _resident_mb(pid: int) -> float:
    """Resident memory of a process and all its descendants, 0 once they are gone."""
    total = 0.0
    pending = [pid]
    while pending:
        current = pending.pop()
        try:
            pending += [
                int(child)
                for task in Path(f"/proc/{current}/task").iterdir()
                for child in (task / "children").read_text().split()
            ]
            total += int(Path(f"/proc/{current}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        except (OSError, IndexError, ValueError):
            continue
    return total
