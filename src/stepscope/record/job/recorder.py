"""What a process of the job does at each of its steps: wait, warm the profiler up, record, write."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

from stepscope.record.job.captures import AnyCapture, new_capture
from stepscope.record.job.ending import Termination
from stepscope.record.job.identity import JobProcess, is_launcher
from stepscope.record.job.memory import MemoryHistory
from stepscope.record.job.models import Models
from stepscope.record.job.others import OtherProfilers
from stepscope.record.job.report import ProcessReport
from stepscope.record.job.windows import Windows
from stepscope.record.settings import RecordSettings
from stepscope.record.steps.finder import StepFinder

if TYPE_CHECKING:
    from pathlib import Path

WAITING: Final = "waiting"
WARMING: Final = "warming"
RECORDING: Final = "recording"
DONE: Final = "done"


class Recorder:
    """Records the chosen steps of this process.

    Events come from hooks in the program's threads; only those of the thread in which the first step ends count.

    Attributes:
        finder: What finds the steps.
        models: Hooks of models, where there is nothing else to go by.
        others: The program's own profilers, which go first.
        updates_end_unseen: This torch does not show when an update is over; steps start within its range.
    """

    def __init__(self, settings: RecordSettings) -> None:
        self.settings = settings
        self.updates_end_unseen = False
        self.finder = StepFinder()
        self.models = Models(self.called)
        self.others = OtherProfilers(self._yield)
        self.memory = MemoryHistory(settings, lambda: self.report)
        self._termination = Termination(lambda: self.leave("the program was terminated"))
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._state = WAITING
        self._thread = 0
        self._closing = False
        self._capture: AnyCapture | None = None
        self._left = False
        self._failed = False
        self.windows = Windows(self.settings)
        self.report = ProcessReport()

    def begin_anew(self) -> None:
        """Forget the steps of the process that this one was forked from."""
        expects = self.finder.expects_updates
        self.finder = StepFinder()
        self.finder.expects_updates = expects
        self.memory.begin_anew()
        self.others.begin_anew()
        self._reset()

    def ask(self) -> bool:
        """Record the next steps; whether that can be."""
        self.windows.ask()
        if self._state == DONE and not self._failed:
            self._state = WAITING
        return not self._failed

    def needs_no_watch(self) -> bool:
        """Whether steps are found by updates or batches, or were recorded, or this is a loader's worker."""
        data = sys.modules.get("torch.utils.data")
        worker = data is not None and data.get_worker_info() is not None
        return worker or self._state != WAITING or self.finder.source in ("optimizer", "loader")

    def asked(self) -> None:
        """A batch is about to be asked for."""
        if self._state != DONE and self._is_loop():
            began = time.perf_counter_ns()
            if self.finder.batch():
                self._step()
            self.report.hooks_ns += time.perf_counter_ns() - began

    def updated(self, optimizer: Hashable) -> None:
        """An optimizer has updated its parameters."""
        if self._state != DONE and self._is_loop():
            began = time.perf_counter_ns()
            self._closing = self.finder.update(optimizer)
            if self._closing and self.updates_end_unseen:
                self.update_over()
            self.report.hooks_ns += time.perf_counter_ns() - began

    def update_over(self) -> None:
        """The update is over, with all that torch records of it."""
        if self._closing and self._state != DONE and self._is_loop():
            began = time.perf_counter_ns()
            self._closing = False
            self._step()
            self.report.hooks_ns += time.perf_counter_ns() - began

    def called(self, model: Hashable) -> None:
        """A model is called."""
        if self._state != DONE and self._is_loop():
            began = time.perf_counter_ns()
            if self.finder.call(model):
                self._step()
            self.report.hooks_ns += time.perf_counter_ns() - began

    def _is_loop(self) -> bool:
        """Whether this is the thread of the loop: the first from which an event comes."""
        thread = threading.get_ident()
        if not self._thread:
            self._thread = thread
        return thread == self._thread

    def _step(self) -> None:
        """A step starts here."""
        before = time.perf_counter_ns()
        windows, number = self.windows, self.finder.number
        length = self.report.step(before, recorded=self._state == RECORDING)
        try:
            if self._state == WAITING:
                windows.look(number, length)
                if not self._is_due(number):
                    return
            with self.others.ours():
                self._go_on(number)
        except Exception as error:
            self._give_up(error)
        after = time.perf_counter_ns()
        if after - before > 1_000_000:
            self.report.apart_ns += after - before
            # What the profiler's own start and end take belongs to no step.
            self.report.step_from(after)

    def _is_due(self, number: int) -> bool:
        """Whether the profiler is set up here, so that it is warm at the first step to record."""
        return number >= max(0, self.windows.first - self.settings.warmup)

    def _go_on(self, number: int) -> None:
        windows = self.windows
        if self._state == RECORDING and number >= windows.stop:
            self._finish()
        elif self._state == RECORDING and self._capture is not None:
            self._capture.mark(number)
        elif self._state == WAITING and self._is_due(number):
            if self.others.at_work:
                self._postpone(number)
            else:
                self._warm()
        if self._state == WARMING and number >= windows.first and self._capture is not None:
            self._start(number)

    def _postpone(self, number: int) -> None:
        if not self.windows.postponed:
            self.report.note(f"the program's own profiler was at work in step {number}, and goes first")
        self.windows.postpone(number)

    def _yield(self) -> None:
        """The program sets up a profiler of its own, which would fail beside ours."""
        if threading.get_ident() != self._thread or self._capture is None:
            return
        try:
            with self.others.ours():
                if self._state == RECORDING:
                    self._finish("the program started its own profiler")
                else:
                    self._capture.cancel()
                    self._capture, self._state = None, WAITING
        except Exception as error:
            self._give_up(error)

    def _warm(self) -> None:
        process = JobProcess.current()
        self.report.rank, self.report.world_size = process.rank, process.world_size
        if self.settings.ranks and process.rank not in self.settings.ranks:
            self._end()
            self.memory.stop()
            self.report.note("this rank was not asked for")
            return
        self._capture = new_capture(self.settings)
        self._capture.prepare()
        self.memory.await_device()
        self._state = WARMING

    def _start(self, number: int) -> None:
        assert self._capture is not None
        self.finder.hold()
        self.report.first, self.report.source = number, self.finder.source
        self._started(self._capture.start(JobProcess.current(), {"steps": self.finder.source}))
        self._capture.mark(number)
        self._state = RECORDING
        self._termination.watch()
        # The launcher hears of it also if the process is killed now.
        self.report.write(self.settings.reports)

    def _started(self, path: Path) -> None:
        if str(path) not in self.report.files:
            self.report.files.append(str(path))
        self.report.stop = -1

    def _finish(self, partial: str = "") -> None:
        capture, self._capture = self._capture, None
        assert capture is not None
        if self.windows.over():
            self._state = WAITING
        else:
            self._end()
        self.report.stop = self.finder.number + bool(partial)
        capture.stop(partial)
        self._write(capture)
        self._termination.unwatch()

    def _write(self, capture: AnyCapture) -> None:
        self.memory.save()
        if self._state == DONE:
            self.memory.stop()
        if problem := capture.write():
            self.report.note(problem)
        self.report.write(self.settings.reports)

    def _end(self) -> None:
        self._state = DONE
        self.models.leave()

    def _give_up(self, error: Exception) -> None:
        """Record no more, and say why; the program goes on."""
        self._failed = True
        self._end()
        self.memory.stop()
        self._capture = None
        self.report.note(str(error).split("\n", 1)[0].rstrip(".") or type(error).__name__)
        with contextlib.suppress(OSError):
            self.report.write(self.settings.reports)

    def record_stretch(self) -> None:
        """Record a stretch of time, since no steps are found; blocks the calling thread, and no other."""
        settings = self.settings
        process = JobProcess.current()
        self.report.rank, self.report.world_size = process.rank, process.world_size
        if is_launcher() or (settings.ranks and process.rank not in settings.ranks):
            return
        if self.others.at_work:
            self.report.note("the program's own profiler was at work")
            return
        self._state, self._thread = RECORDING, -1
        try:
            with self.others.ours():
                capture = new_capture(settings, all_threads=True)
                capture.prepare()
                self._started(capture.start(process, {"steps": "time"}))
                self.report.source = "time"
                time.sleep(settings.stretch_s)
                capture.stop()
                self._end()
                self._write(capture)
        except Exception as error:
            self._give_up(error)

    def leave(self, reason: str = "the program ended") -> None:
        """The process ends: write what there is.

        Args:
            reason: Why the step that is going on is not whole.
        """
        if self._left or os.getpid() != self._pid:
            return
        self._left = True
        if self._state == RECORDING and self._capture is not None:
            try:
                with self.others.ours():
                    self._finish(reason)
            except Exception as error:
                self._give_up(error)
        # A step that an update did not close is not over, while the last batch or call was a whole one.
        self.report.seen = self.finder.number + (self.finder.source in ("loader", "model"))
        self.report.source = self.report.source or self.finder.source
        with contextlib.suppress(OSError):
            self.report.write(self.settings.reports)
