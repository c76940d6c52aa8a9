"""Whole commands in processes of their own: many at once on one cache, killed, or without room."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic, sleep

#: A command that runs longer hangs.
_HANGS_SECONDS = 120.0


@dataclass(slots=True)
class Counted:
    """How many commands were run, and what was wrong with which."""

    runs: int = 0
    failures: list[str] = field(default_factory=list)
    different: int = 0
    left: int = 0


class Place:
    """Folders for one experiment: a cache, temporary files and results."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.cache, self.temporary, self.results = (self.folder / name for name in ("cache", "tmp", "results"))
        for path in (self.temporary, self.results):
            path.mkdir()
        self._number = 0

    def start(self, arguments: Sequence[str], limit: int = 0, room: int = 0) -> tuple[int, Path]:
        """Run a command; returns the process and where its standard output and error go.

        The process is forked, since importing everything anew would take longer than the analysis. Nothing here has
        connected to a database or started a thread.

        Args:
            arguments: Of `stepscope`.
            limit: Bytes of the cache; 0 for as many as there are.
            room: Bytes that a file may have; 0 for as many as there are.
        """
        self._number += 1
        path = self.results / f"{self._number}"
        process = os.fork()
        if process == 0:
            os.environ.update(STEPSCOPE_CACHE=str(self.cache), TMPDIR=str(self.temporary))
            if limit:
                os.environ["STEPSCOPE_CACHE_LIMIT"] = str(limit)
            _become(arguments, path, room)
        return process, path

    def left(self) -> int:
        """Things that no finished command should have left."""
        unfinished = [*self.cache.glob("tmp-*"), *self.cache.glob("once-*")] if self.cache.exists() else []
        return len(unfinished) + len(list(self.temporary.iterdir()))


def import_all() -> None:
    """Import what commands need, before they are forked."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import stepscope.cli.ahead as ahead
    from stepscope.cli import entry  # noqa: F401

    ahead._import()


def _become(arguments: Sequence[str], path: Path, room: int) -> None:
    """Be the command, and end with its status."""
    tempfile.tempdir = None
    for number, suffix in ((1, ".out"), (2, ".err")):
        opened = os.open(f"{path}{suffix}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
    if room:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    sys.argv = ["stepscope", *arguments]
    try:
        from stepscope.cli.entry import entry

        entry()
    except SystemExit as leaving:
        os._exit(leaving.code if isinstance(leaving.code, int) else 1)
    except BaseException:
        os._exit(70)
    os._exit(71)


def status_of(process: int) -> int:
    """Wait for a process; its status, negative for the signal that ended it."""
    end = monotonic() + _HANGS_SECONDS
    while monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return -99


def _is_right(counted: Counted, process: int, path: Path, expected: str) -> None:
    status, said = status_of(process), Path(f"{path}.err").read_text(errors="replace")
    if status != 0 or said:
        counted.failures.append(f"status {status}: {said[:300]}")
    elif expected and Path(f"{path}.out").read_text() != expected:
        counted.different += 1
        counted.failures.append("another report")


@cache
def expected_report(folder: Path, path: Path) -> str:
    """What an undisturbed command says."""
    place = Place(folder)
    process, out = place.start(["analyze", str(path), "--json", "-"])
    if status_of(process):
        raise SystemExit(f"the undisturbed command failed: {Path(f'{out}.err').read_text()}")
    return Path(f"{out}.out").read_text()


def crowds(folder: Path, path: Path, number: int, seed: int, deadline: float) -> Counted:
    """Two to eight commands at once on a cold cache, which others clear and shrink meanwhile; all say the same."""
    expected, chance, counted = expected_report(folder, path), random.Random(seed), Counted()
    while counted.runs < number and monotonic() < deadline:
        place = Place(folder)
        started = []
        for _ in range(min(chance.randint(2, 8), number - counted.runs)):
            limit = chance.choice((0, 0, 1))
            started.append((*place.start(["analyze", str(path), "--json", "-"], limit=limit), expected))
            counted.runs += 1
            if chance.random() < 0.4:
                sleep(chance.random() * 0.3)
                started.append((*place.start(["cache", "clear"]), ""))
            sleep(chance.random() * 0.2)
        for process, out, text in started:
            _is_right(counted, process, out, text)
        counted.left += place.left()
    return counted


def kills(folder: Path, path: Path, number: int, seed: int, deadline: float) -> Counted:
    """Commands that are killed at any moment; the next one says the same as ever, and clears up."""
    expected, chance, counted = expected_report(folder, path), random.Random(seed), Counted()
    place = Place(folder)
    started = monotonic()
    process, _ = place.start(["analyze", str(path), "--json", "-", "--no-cache"])
    status_of(process)
    whole = monotonic() - started
    while counted.runs < number and monotonic() < deadline:
        place = Place(folder)
        for _ in range(chance.randint(1, 3)):
            options = chance.choice(([], ["--no-cache"]))
            process, _ = place.start(["analyze", str(path), "--json", str(place.results / "report.json"), *options])
            sleep(chance.random() * whole)
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            counted.runs += 1
            report = place.results / "report.json"
            if report.exists() and report.read_text() != expected:
                counted.failures.append("half a report")
        _is_right(counted, *place.start(["analyze", str(path), "--json", "-"]), expected)
        counted.left += place.left()
    return counted


def full_disks(folder: Path, path: Path, number: int, seed: int, deadline: float) -> Counted:
    """Commands that can't write files beyond some size: a sentence and nothing left, or the whole report."""
    expected, chance, counted = expected_report(folder, path), random.Random(seed), Counted()
    while counted.runs < number and monotonic() < deadline:
        place = Place(folder)
        report = place.results / "report.json"
        room = int(10 ** chance.uniform(2, 6))
        process, out = place.start(["analyze", str(path), "--json", str(report)], room=room)
        status, said = status_of(process), Path(f"{out}.err").read_text(errors="replace")
        counted.runs += 1
        sentences = [line for line in said.splitlines() if line.startswith("stepscope: ")]
        if status == 0 and report.exists() and report.read_text() == expected:
            pass
        elif status != 2 or not sentences or "unexpected" in said or "Traceback" in said or report.exists():
            counted.failures.append(f"status {status} with {room} bytes: {said[:300]}")
        counted.left += place.left() + len(list(place.results.glob(".*")))
        _is_right(counted, *place.start(["analyze", str(path), "--json", "-"]), expected)
    return counted
