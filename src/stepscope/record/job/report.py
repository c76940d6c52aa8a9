"""What a process of the job tells the launcher: which steps it recorded, where, and what that cost."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from stepscope.record.job.identity import is_loader_worker
from stepscope.record.noted import Noted, as_json, noted, of_json

if TYPE_CHECKING:
    from stepscope.record.settings import RecordSettings

#: Steps of which lengths are kept.
_STEPS: Final = 200
#: Recordings, histories of memory and notes that are named: a job that is watched for weeks makes ever more.
_NAMED: Final = 20


@dataclass(slots=True)
class ProcessReport:
    """A process of the job; times are in ns.

    Attributes:
        pid: Its number.
        host: The machine that it ran on.
        program: What it ran, as in `sys.argv`.
        rank: Its rank.
        world_size: Number of ranks.
        source: What steps were found by: `optimizer`, `loader`, `model`, `time`, or nothing.
        seen: Steps seen until recording was over, or the process ended.
        first: First recorded step, -1 for none.
        stop: First step not recorded any more as a whole, -1 for none.
        cut: Why that one was cut within the recording; empty if it was not.
        recordings: How many recordings were written.
        files: The last of them.
        snapshots: The last histories of memory written.
        notes: What went wrong first.
        outside_ns: Median length of steps before the recorded ones, 0 for none.
        inside_ns: Median length of recorded steps, 0 for none.
        apart_ns: Time for starting the profiler, stopping it and writing, outside steps.
        hooks_ns: Time within hooks, with `apart_ns`, but for steps that were passed over.
        passed: Steps that were passed over, of which nobody knows what their hooks took.
        lived_ns: Time since torch was imported.
        starts_others: Whether it shows no step and only waits for processes that it started.
    """

    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=socket.gethostname)
    program: str = field(default_factory=lambda: " ".join(getattr(sys, "argv", [])[:3]))
    rank: int = 0
    world_size: int = 1
    source: str = ""
    seen: int = 0
    first: int = -1
    stop: int = -1
    cut: str = ""
    recordings: int = 0
    files: list[str] = field(default_factory=list)
    snapshots: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    outside_ns: int = 0
    inside_ns: int = 0
    apart_ns: int = 0
    hooks_ns: int = 0
    passed: int = 0
    lived_ns: int = 0
    starts_others: bool = False
    _since: int = field(default_factory=time.perf_counter_ns)
    _last: int = 0
    _outside: deque[int] = field(default_factory=lambda: deque(maxlen=_STEPS))
    _inside: deque[int] = field(default_factory=lambda: deque(maxlen=_STEPS))

    def step(self, now: int, *, recorded: bool) -> int:
        """A step ended, and the next starts.

        Returns:
            How long it took in ns; 0 if its start is not known.
        """
        length = now - self._last if self._last else 0
        if length:
            (self._inside if recorded else self._outside).append(length)
        self._last = now
        return length

    def passed_over(self, now: int, lengths: Sequence[int]) -> None:
        """Steps were passed over, of which the last ended at a time."""
        self.passed += len(lengths)
        self._outside.extend(lengths[-_STEPS:])
        self._last = now

    def step_from(self, now: int) -> None:
        """The step that is going on starts later than was said."""
        self._last = now

    def writes(self, recording: Path) -> None:
        """A recording is being written."""
        self.stop = -1
        if str(recording) not in self.files[-1:]:
            self.recordings += 1
            self.files = [*self.files, str(recording)][-_NAMED:]

    def saved(self, snapshot: Path) -> None:
        """A history of memory was written."""
        if str(snapshot) not in self.snapshots:
            self.snapshots = [*self.snapshots, str(snapshot)][-_NAMED:]

    def note(self, text: str) -> None:
        """Say what went wrong, once."""
        if len(self.notes) >= _NAMED:
            text = noted("what else went wrong is left out")
        if text not in self.notes:
            self.notes.append(text)

    def note_error(self, error: Exception) -> None:
        """Say what an error says: its first line, or what was noted of it."""
        own = error.args[0] if error.args and isinstance(error.args[0], Noted) else ""
        self.note(own or str(error).split("\n", 1)[0].rstrip(".") or type(error).__name__)

    def write_last(self, settings: RecordSettings) -> None:
        """Write it at the end of the process, unless nobody misses it.

        There would be ever more reports of a loader's workers, and of programs that only could have been asked.
        """
        is_missed = settings.has_launcher and (self.seen or not is_loader_worker())
        if is_missed or self.files or self.snapshots or self.notes:
            self.write(settings.reports)

    def write(self, folder: str) -> None:
        """Write it where the launcher looks, whole or not at all; a job runs on where that can't be."""
        # The first step has no start, and the second still warms the program up.
        outside = list(self._outside)[1:] or list(self._outside)
        self.outside_ns = int(median(outside)) if outside else 0
        self.inside_ns = int(median(self._inside)) if self._inside else 0
        self.lived_ns = time.perf_counter_ns() - self._since
        values = {one.name: as_json(getattr(self, one.name)) for one in fields(self) if not one.name.startswith("_")}
        final = Path(folder) / f"{self.host}_{self.pid}.json"
        temporary = final.with_suffix(".unfinished")
        with contextlib.suppress(OSError):
            # The job may have been started on another machine, where there is no such folder yet.
            final.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(values), encoding="utf-8")
            temporary.replace(final)

    @classmethod
    def read(cls, path: Path) -> ProcessReport:
        """What a process wrote.

        Raises:
            ValueError: It is not whole, or of another version.
        """
        values = json.loads(path.read_text(encoding="utf-8"))
        known = {one.name for one in fields(cls) if not one.name.startswith("_")}
        return cls(**{name: of_json(value) for name, value in values.items() if name in known})
