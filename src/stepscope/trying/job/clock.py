"""Keep where each step of this process starts, by the hooks of a recording that records nothing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepscope.record.job.identity import JobProcess, only_starts_others
from stepscope.record.job.recorder import Recorder
from stepscope.record.settings import RecordSettings
from stepscope.trying.job.report import STEPS, TrialReport
from stepscope.trying.job.settings import TrialSettings


class TrialClock(Recorder):
    """Writes where steps start to a file that the launcher reads, and a report once the program has warmed up.

    Args:
        settings: When that is.
        complete: Called before the report is written, to fill it in.
        first: Called where the first step starts.
    """

    def __init__(
        self, settings: TrialSettings, complete: Callable[[TrialReport], None], first: Callable[[], None]
    ) -> None:
        own = str(Path(settings.reports) / "hooks")
        super().__init__(RecordSettings(own, own, scheduled=False, profiler="none"))
        self.trial = settings
        self._complete = complete
        self._first = first
        self._file = -1
        self._first_pid = os.getpid()
        self.started = 0
        #: Time, and time of processors, where the second half of the warm-up starts; processors used from there on.
        self._since = (0, 0)
        self.running = 0.0

    def begin_anew(self) -> None:
        """A process that was forked from this one has steps of its own, if any."""
        super().begin_anew()
        self._file, self.started = -1, 0

    def trains(self) -> None:
        """There is an optimizer; models are still looked at."""
        self.loops.expects_updates = True

    def _step(self) -> None:
        if not self.started:
            self._first()
            path = Path(self.trial.reports) / f"{os.getpid()}{STEPS}"
            self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
        self.started += 1
        os.write(self._file, time.perf_counter_ns().to_bytes(8, "little"))
        if self.started == self.trial.warmup // 2 + 1:
            self._since = (time.perf_counter_ns(), time.process_time_ns())
        if self.started == self.trial.warmup + 1:
            since, used = self._since
            self.running = (time.process_time_ns() - used) / max(time.perf_counter_ns() - since, 1)
            self._report(ready=True)
            if self.loops.finder.source != "model":
                self.models.leave()

    def leave(self, reason: str = "the program ended") -> None:
        """The process ends: say what is known by then."""
        del reason
        if self._left or os.getpid() != self._pid:
            return
        self._left = True
        if self.started <= self.trial.warmup:
            self._report(ready=False)

    def _report(self, *, ready: bool) -> None:
        if not self.started and (os.getpid() != self._first_pid or only_starts_others()):
            return
        process = JobProcess.current()
        report = TrialReport(
            os.getpid(), process.rank, process.world_size, self.loops.finder.source, ready, notes=[*self.report.notes]
        )
        self._complete(report)
        torch: Any = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
            report.peak_bytes = int(torch.cuda.max_memory_allocated())
        report.write(self.trial.reports)
