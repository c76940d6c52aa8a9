"""What a process of the job does at each of its steps: wait, warm the profiler up, record, write."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, Final

from stepscope.record.job.captures import AnyCapture, new_capture
from stepscope.record.job.ending import ENDED, AtThreadEnd, Termination
from stepscope.record.job.identity import JobProcess, only_starts_others
from stepscope.record.job.loops import Loops
from stepscope.record.job.memory import MemoryHistory
from stepscope.record.job.models import Models
from stepscope.record.job.others import OtherProfilers, goes_first
from stepscope.record.job.report import ProcessReport
from stepscope.record.job.unseen import is_traced, without_modes
from stepscope.record.job.watch.clock import StepClock
from stepscope.record.job.watch.pace import StepPace
from stepscope.record.job.watch.passing import catch_up, pass_over
from stepscope.record.job.watch.watched import WatchedWindows
from stepscope.record.job.windows import Windows
from stepscope.record.noted import noted
from stepscope.record.settings import RecordSettings

WAITING: Final = "waiting"
WARMING: Final = "warming"
RECORDING: Final = "recording"
DONE: Final = "done"
#: Seconds that the end of the process waits for another thread that is being recorded.
_OTHER_THREAD_S: Final = 2.0
_STRETCH_S: Final = 60.0
#: Recordings that fail before a program is not watched on either.
_FAILURES: Final = 3


class Recorder:
    """Records the chosen steps of this process.

    Whatever fails here is said at the end, and the program goes on without being recorded.

    Attributes:
        loops: What finds the loop and its steps.
        models: Sees calls of models, where there is nothing else to go by.
        others: The program's own profilers, which go first.
        clock: Goes on without a profiler, if the settings ask for it.
        pace: What hooks call; it passes over the steps of a watched process that are as usual.
        needs_no_patience: Set once a step was found, or the process shows none for a reason.
    """

    def __init__(self, settings: RecordSettings) -> None:
        from torch._C._dynamo import eval_frame

        self._set_compiler: Callable[[Any], Any] = eval_frame.set_eval_frame
        self.settings = settings
        self.pace = StepPace(self.asked, self.updated, self.called)
        self.models = Models(self.pace.called)
        self.others = OtherProfilers(self._yield)
        self.memory = MemoryHistory(settings, lambda: self.report)
        self._termination = Termination(lambda: self.leave(noted("the program was terminated")))
        self._local = threading.local()
        self._reset(expects_updates=False)

    def _reset(self, *, expects_updates: bool) -> None:
        self._pid = os.getpid()
        self._state = WAITING
        self.pace.close()
        self._thread = 0
        self._capture: AnyCapture | None = None
        self._left = False
        self._failed, self._failures = False, 0
        self._over = threading.Event()
        self.needs_no_patience = threading.Event()
        self._written: threading.Event | None = None
        self.loops = Loops(expects_updates=expects_updates)
        self.report = ProcessReport()
        settings, loops = self.settings, self.loops
        self.clock = StepClock(settings, self.report, lambda: loops.finder.source) if settings.ring else None
        watched = settings.keep or settings.control
        self.windows = WatchedWindows(settings, self.clock, self.report) if watched else Windows(settings)

    def begin_anew(self) -> None:
        """Forget the steps of the process that this one was forked from."""
        self.memory.begin_anew()
        self.others.begin_anew()
        self._reset(expects_updates=self.loops.expects_updates)

    def ask(self) -> bool:
        """Record the next steps; whether that can be."""
        self.windows.ask()
        self.pace.until = 0
        if self._state == DONE and not self._failed:
            self._go_on_waiting()
        return not self._failed

    def _go_on_waiting(self) -> None:
        self._state = WAITING
        if self.loops.finder.source == "model":
            self.models.see(sys.modules["torch"].nn.Module)

    def trains(self) -> None:
        """There is an optimizer."""
        self.loops.expects_updates = True
        self.pace.until = 0
        self.models.leave()

    def asked(self) -> None:
        """A batch is about to be asked for."""
        self._happened(self.loops.batch)
        if self.clock is not None:
            self.pace.waits_from_here(self.loops.thread)

    def updated(self, optimizer: Hashable) -> None:
        """An optimizer has updated its parameters, and all that torch records of that is over."""
        self._happened(self.loops.update, optimizer)

    def called(self, model: Hashable) -> None:
        """A model is called."""
        self._happened(self.loops.call, model)

    def _happened(self, what: Callable[..., bool], *key: Hashable) -> None:
        if self._state == DONE:
            return
        compiler = self._set_compiler(None)
        began = time.perf_counter_ns()
        try:
            if self.pace.is_here:
                self._catch_up()
            if not is_traced() and what(*key):
                # Batches that another thread reads may be ahead of a loop that calls a model.
                source = self.loops.finder.source
                if source == "optimizer" or (source == "loader" and self.loops.is_main):
                    self.models.leave()
                self._step()
        except Exception as error:
            self._give_up(error)
        finally:
            self.report.hooks_ns += time.perf_counter_ns() - began
            self._set_compiler(compiler)

    def _step(self) -> None:
        """A step starts here."""
        before = time.perf_counter_ns()
        if not self.needs_no_patience.is_set():
            self.needs_no_patience.set()
        windows, number = self.windows, self.loops.finder.number
        length = self.report.step(before, recorded=self._state == RECORDING)
        if self.clock is not None:
            self.clock.step(number - 1, before, length, self.pace.waited(), recorded=self._state != WAITING)
        if self._state == WAITING:
            windows.look(number, length, before)
            if not self._is_due(number):
                pass_over(self.pace, self.loops, windows, before)
                return
        with self.others.ours(), without_modes():
            self._go_on(number)
        if (after := time.perf_counter_ns()) - before > 1_000_000:
            self.report.apart_ns += after - before
            # What the profiler's own start and end take belongs to no step.
            self.report.step_from(after)

    def _catch_up(self) -> None:
        catch_up(self.pace, self.loops, self.windows, self.report, self.clock)

    def _is_due(self, number: int) -> bool:
        """Whether the profiler is set up here, so that it is warm at the first step to record."""
        return number >= max(0, self.windows.first - self.settings.warmup)

    def _go_on(self, number: int) -> None:
        windows = self.windows
        if self._state == RECORDING and number >= windows.stop:
            self._finish()
        elif self._state == RECORDING and self._capture is not None:
            if self._over.is_set():
                self._finish(ENDED)
            else:
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
            self.report.note(goes_first(number))
        self.windows.postpone(number)

    def _yield(self) -> None:
        """The program sets up a profiler of its own, which would fail beside ours."""
        if threading.get_ident() != self._thread or self._capture is None:
            return
        try:
            with self.others.ours():
                if self._state == RECORDING:
                    self._finish(noted("the program started its own profiler"))
                else:
                    capture, self._capture, self._state = self._capture, None, WAITING
                    capture.cancel()
        except Exception as error:
            self._give_up(error)

    def _warm(self) -> None:
        if not self._is_wanted():
            if not self.windows.pass_by():
                self._end()
                self.memory.stop()
                self.report.note(noted("this rank was not asked for"))
            return
        self._thread = threading.get_ident()
        self._capture = new_capture(self.windows.settings)
        self._capture.prepare()
        self.memory.await_device()
        self._state = WARMING

    def _is_wanted(self) -> bool:
        process = JobProcess.current()
        self.report.rank, self.report.world_size = process.rank, process.world_size
        return not self.settings.ranks or process.rank in self.settings.ranks

    def _start(self, number: int) -> None:
        assert self._capture is not None
        self.loops.hold()
        self.report.first, self.report.source = number, self.loops.finder.source
        details = {"steps": self.report.source, **self.windows.reason()}
        self.report.writes(self._capture.start(JobProcess.current(), details))
        self._state = RECORDING
        self._termination.watch()
        if self._thread != threading.main_thread().ident:
            # A profiler ends in the thread that it started in.
            self._local.end = AtThreadEnd(lambda: self.leave(noted("the thread ended")))
        # The launcher hears of it also if the process is killed now. What is done up to here lies in no step.
        self.report.write(self.settings.reports)
        self._capture.mark(number)

    def _finish(self, partial: str = "") -> None:
        assert self._capture is not None
        capture, number = self._capture, self.loops.finder.number
        capture.stop(partial)
        self._capture = None
        self.report.stop, self.report.cut = number, partial
        if self.windows.over():
            self._state = WAITING
        else:
            self._end()
        self._write(capture)
        self._termination.unwatch()

    def _write(self, capture: AnyCapture) -> None:
        self.memory.save()
        if self._state == DONE:
            self.memory.stop()
        if problem := capture.write():
            self.report.note(problem)
        self.windows.written()
        self.report.write(self.settings.reports)

    def _end(self) -> None:
        self._state = DONE
        self.models.leave()

    def _give_up(self, error: Exception) -> None:
        """Record no more, leave nothing running, and say why; the program goes on, and is watched on if it was."""
        self._failed, self._failures = True, self._failures + 1
        self.report.note_error(error)
        capture, self._capture = self._capture, None
        cancel = [capture.cancel] if capture else []
        for undo in (self._end, self._termination.unwatch, self.memory.stop, *cancel):
            try:
                undo()
            except Exception as further:
                self.report.note_error(further)
        if self._failures < _FAILURES and self.windows.pass_by():
            self._failed = False
            self._go_on_waiting()
        self.report.write(self.settings.reports)

    def record_stretch(self) -> None:
        """Record a stretch of time, since no steps are found; blocks the calling thread, and no other."""
        if self._state != WAITING or self.loops.finder.source or only_starts_others() or not self._is_wanted():
            return
        if self.others.at_work:
            self.report.note(noted("the program's own profiler was at work"))
            return
        self._state, self._thread = RECORDING, -1
        self._written = threading.Event()
        try:
            with self.others.ours():
                self._capture = capture = new_capture(self.settings, all_threads=True)
                capture.prepare()
                self.report.writes(capture.start(JobProcess.current(), {"steps": "time"}))
                # This thread has no part in the program.
                sys.setprofile(None)
                self.report.source = "time"
                ended = self._over.wait(self.settings.stretch_s)
                capture.stop(ENDED if ended else "")
                self._capture = None
                self._end()
                self._write(capture)
        except Exception as error:
            self._give_up(error)
        finally:
            self._written.set()

    def leave(self, reason: str = ENDED) -> None:
        """The process ends: write what there is.

        Args:
            reason: Why the step that is going on is not whole.
        """
        if self._left or os.getpid() != self._pid:
            return
        if self._capture is not None and self._thread != threading.get_ident():
            self._wait_for_other_thread()
        self._left = True
        try:
            self._catch_up()
            if self._capture is not None and self._thread == threading.get_ident():
                with self.others.ours(), without_modes():
                    if self._state == RECORDING:
                        self._finish(reason)
                    else:
                        capture, self._capture = self._capture, None
                        capture.cancel()
        except Exception as error:
            self._give_up(error)
        finder = self.loops.finder
        # A step that an update did not close is not over, while the last batch or call was a whole one.
        self.report.seen = finder.number + (finder.source in ("loader", "model"))
        self.report.source = self.report.source or finder.source
        self.report.starts_others = only_starts_others()
        if self.clock is not None:
            self.clock.flush()
        self.windows.leave()
        self.report.write_last(self.settings)

    def _wait_for_other_thread(self) -> None:
        """Have the thread that is being recorded stop that, as only it can."""
        self._over.set()
        if self._written is not None:
            self._written.wait(_STRETCH_S)
            return
        until = time.monotonic() + _OTHER_THREAD_S
        while self._capture is not None and time.monotonic() < until:
            time.sleep(0.01)
