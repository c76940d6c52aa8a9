"""Which steps of a watched process are recorded: after a reason, within a pause, and where to."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepscope.record.job.identity import JobProcess
from stepscope.record.job.watch.control import ControlEntry
from stepscope.record.job.windows import NEVER, Windows, changed
from stepscope.record.noted import noted
from stepscope.record.triggers.jumps import MemoryJumps
from stepscope.record.triggers.keeping import keep
from stepscope.record.triggers.request import STALE_S, RecordingRequest, claim, shared_request
from stepscope.record.triggers.trigger import MEMORY_JUMP, PLANNED, SLOW_STEP, Trigger

if TYPE_CHECKING:
    from stepscope.record.job.report import ProcessReport
    from stepscope.record.job.watch.clock import StepClock
    from stepscope.record.settings import RecordSettings

#: Nanoseconds between two looks at files that ask for a recording.
_BETWEEN_LOOKS_NS: Final = 250_000_000
#: Steps before those that are planned in which each is looked at: more than can be passed over at once.
_FAR: Final = 20_000
#: Name of the file that the launcher touches when it gets the signal that asks.
SIGNALLED: Final = "asked"


class WatchedWindows(Windows):
    """The steps to record of a process that is watched, or waits to be asked.

    Args:
        settings: What to watch for.
        clock: Knows the memory in use, and keeps what happened.
        report: Of the process, where it is said what could not be recorded.
    """

    def __init__(self, settings: RecordSettings, clock: StepClock | None, report: ProcessReport) -> None:
        super().__init__(settings)
        self._report = report
        self._clock = clock
        self._output = Path(settings.output)
        self._request: RecordingRequest | None = None
        self._done = ""
        self._planned = self.first
        self._program = False
        self._was_recorded = False
        self._device = MemoryJumps(settings.jump, settings.jump_bytes)
        self._host = MemoryJumps(settings.jump, settings.jump_bytes)
        self._control = ControlEntry(settings) if settings.control else None
        self._files = [Path(one) for one in settings.requests]
        self._shared = shared_request(self._output)
        self._looked = 0
        self._times = {path: changed(path) for path in self._watched_files()}

    @property
    def settings(self) -> RecordSettings:
        """What the recording is to hold, and where it goes."""
        request = self._request
        if request is None:
            return self._settings
        known = {one.name for one in dataclasses.fields(self._settings)}
        options = {name: value for name, value in request.options.items() if name in known}
        return dataclasses.replace(self._settings, **{**options, "output": request.folder})

    def reason(self) -> dict[str, Any]:
        """Why it is made."""
        return {"trigger": self._request.trigger.sentence()} if self._request is not None else {}

    def ask(self) -> None:
        """Record the next steps, since the program asks."""
        self._program = True

    def passes_over(self, number: int) -> int:
        """How long steps may be in ns that need no look; 0 while there is a reason, or one is near."""
        if self._request is not None or self._program or number + _FAR > self.first - self._settings.warmup:
            return 0
        return self._slow.limit_ns

    def look(self, number: int, length_ns: int, now: int = 0) -> None:
        """See whether there is a reason to record.

        Args:
            number: The step that starts.
            length_ns: How long the last one took; 0 if that is not known.
            now: Monotonic time in ns.
        """
        try:
            self._look(number, length_ns, now or time.perf_counter_ns())
        except OSError as error:
            # A disk that is full now need not be when there is a reason again.
            why = error.strerror or str(error)
            self._report.note(noted("a reason to record could not be followed ({why})", why=why))

    def _look(self, number: int, length_ns: int, now: int) -> None:
        if self._control is not None:
            self._control.steps(now)
        if self._request is None and number >= self.first - self._settings.warmup:
            # Steps that were asked for before the start.
            self._take(self._claim(self._trigger(PLANNED, number)), number, self.first)
            return
        if self._request is not None:
            return
        request = self._found(number, length_ns, now)
        if request is not None:
            self._take(request, number, number + max(1, self._settings.warmup))

    def over(self) -> bool:
        """A recording is over; there may always be another one."""
        request = self._request
        self._was_recorded = True
        self.pass_by()
        if self._clock is not None and request is not None:
            folder, trigger = Path(request.folder).name, request.trigger.values()
            self._clock.happened(
                {"what": "recorded", "unix_ns": time.time_ns(), "folder": folder[-120:], "trigger": trigger}
            )
        return True

    def pass_by(self) -> bool:
        """This rank does not take part; it is watched on."""
        request, self._request = self._request, None
        if request is None:
            return True
        self._done = request.folder
        # What goes to a folder of its own is bounded by what is kept, or by whoever asks.
        self._left -= not self._settings.keep and request.trigger.what != "attach"
        if request.trigger.what == PLANNED:
            self._planned = self.first + self._settings.every if self._settings.every else NEVER
        self.postponed = False
        # Planned steps that came meanwhile are as many later ones.
        self.first = max(self._planned, self.stop + max(1, self._settings.warmup)) if self._left > 0 else NEVER
        self.stop = self.first + self._settings.stop - self._settings.first
        return True

    def leave(self) -> None:
        """The process ends."""
        if self._control is not None:
            self._control.leave()

    def written(self) -> None:
        """Remove what is one too many."""
        if self._settings.keep:
            keep(self._output, self._settings.keep, self._settings.keep_bytes)

    def _take(self, request: RecordingRequest | None, number: int, first: int) -> None:
        if request is None:
            if first == self.first:
                self.postpone(number)
            return
        self._request = request
        self.first = first
        self.stop = first + (request.steps or self._settings.stop - self._settings.first)
        Path(request.folder).mkdir(parents=True, exist_ok=True)

    def _found(self, number: int, length_ns: int, now: int) -> RecordingRequest | None:
        trigger = None
        if self._slow.is_slow(length_ns):
            trigger = self._trigger(SLOW_STEP, number - 1, length_ns, self._slow.usual_ns)
        clock = self._clock
        if clock is not None and clock.looked:
            sizes = (
                ("device", self._device, clock.memory.device_bytes),
                ("process", self._host, clock.memory.host_bytes),
            )
            for of, jumps, size in sizes:
                if self._was_recorded:
                    # The profiler's own memory, of which the process keeps a part.
                    jumps.rose_to(size)
                elif before := jumps.jumped_from(size):
                    trigger = trigger or self._trigger(MEMORY_JUMP, number - 1, size, before, of)
            self._was_recorded = False
        if self._program:
            self._program = False
            trigger = self._trigger("program", number - 1)
        if now - self._looked >= _BETWEEN_LOOKS_NS:
            self._looked = now
            for path in self._is_new():
                if path in self._files:
                    trigger = self._trigger("signal" if path.name == SIGNALLED else "file", number - 1)
                elif (asked := self._asked_in(path)) is not None and asked.age_s < STALE_S:
                    return asked
        return self._claim(trigger) if trigger is not None else None

    def _asked_in(self, path: Path) -> RecordingRequest | None:
        if self._control is not None and path == self._control.asked:
            return self._control.request()
        asked = RecordingRequest.read_within(self._output)
        # What this process claimed itself is new there as well.
        return asked if asked is not None and asked.folder != self._done else None

    def _claim(self, trigger: Trigger) -> RecordingRequest | None:
        if not self._settings.keep:
            # Nothing is watched, and what is asked for goes where everything goes.
            return RecordingRequest(self._settings.output, trigger) if self._left > 0 else None
        request = claim(self._output, trigger, self._settings.cooldown_s, self._done)
        if request is not None:
            keep(self._output, self._settings.keep, self._settings.keep_bytes)
        return request

    def _trigger(self, what: str, step: int, value: int = 0, usual: int = 0, of: str = "") -> Trigger:
        process = JobProcess.current()
        return Trigger(what, time.time_ns(), process.rank, process.world_size, step, value, usual, of)

    def _watched_files(self) -> list[Path]:
        return [*self._files, self._shared, *([self._control.asked] if self._control is not None else [])]

    def _is_new(self) -> list[Path]:
        """Files that ask and were touched since they were last looked at."""
        found = []
        for path, before in self._times.items():
            now = changed(path)
            if now > before:
                found.append(path)
                self._times[path] = now
        return found
