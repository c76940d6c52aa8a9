"""The clock that goes on without the profiler: length of each step, its wait for data, memory in use, into a ring."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.record.job.identity import JobProcess
from stepscope.record.job.watch.in_use import MemoryInUse
from stepscope.record.noted import noted
from stepscope.record.ring.layout import SUFFIX
from stepscope.record.ring.writer import RingWriter
from stepscope.record.triggers.request import WATCHED

if TYPE_CHECKING:
    from stepscope.record.job.report import ProcessReport
    from stepscope.record.settings import RecordSettings


class StepClock:
    """Keeps the last steps of this process.

    Args:
        settings: Where, and how many.
        report: Of the process, where it is said if the ring can't be written.
        source: Gives what steps are found by.

    Attributes:
        memory: What is in use.
        looked: Whether memory was looked at when the last step ended.
        process: Which process of the job this is, as of the first steps.
    """

    def __init__(self, settings: RecordSettings, report: ProcessReport, source: Callable[[], str]) -> None:
        self.memory = MemoryInUse()
        self.looked = False
        self.process: JobProcess | None = None
        self._settings = settings
        self._report = report
        self._source = source
        self._ring: RingWriter | None = None
        self._failed = False

    def step(self, number: int, now: int, length_ns: int, wait_ns: int, *, recorded: bool) -> None:
        """A step is over.

        Args:
            number: Its number.
            now: Monotonic time in ns.
            length_ns: How long it took; 0 if that is not known.
            wait_ns: How long its loop waited for batches.
            recorded: Whether a profiler of ours was at work.
        """
        self.looked = self.memory.look(now)
        if not length_ns or self._failed:
            return
        memory = self.memory
        try:
            ring = self._ring or self._new()
            ring.add(
                number, time.time_ns(), length_ns, min(wait_ns, length_ns), memory.device_bytes, memory.host_bytes,
                recorded, now,
            )  # fmt: skip
        except OSError as error:
            self._fail(error)

    def passed_over(self, first: int, ends: Sequence[int], lengths: Sequence[int], waits: Sequence[int]) -> None:
        """Steps are over that were passed over.

        Args:
            first: Number of the first.
            ends: Monotonic times of their ends, in ns.
            lengths: How long they took.
            waits: How long their loop waited for batches.
        """
        if self._failed:
            return
        memory, unix = self.memory, time.time_ns() - time.perf_counter_ns()
        try:
            ring = self._ring or self._new()
            ring.add_all(first, [unix + end for end in ends], lengths, waits, memory.device_bytes, memory.host_bytes)
        except OSError as error:
            self._fail(error)

    def happened(self, what: dict[str, Any]) -> None:
        """Keep something that happened, as JSON values."""
        if self._failed:
            return
        try:
            (self._ring or self._new()).happened(what)
        except OSError as error:
            self._fail(error)

    def flush(self) -> None:
        """Write what is not written yet."""
        if self._ring is None or self._failed:
            return
        try:
            self._ring.flush()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._failed = True
        self._report.note(noted("its ring of steps is not written any more ({why})", why=error.strerror or str(error)))

    def _new(self) -> RingWriter:
        self.process = process = JobProcess.current()
        report = self._report
        report.rank, report.world_size = process.rank, process.world_size
        about = {
            "pid": os.getpid(), "host": report.host, "rank": process.rank, "world_size": process.world_size,
            "source": self._source(), "since_unix_ns": time.time_ns(), "program": report.program[:2000],
        }  # fmt: skip
        path = Path(self._settings.output) / WATCHED / f"{process.worker()}{SUFFIX}"
        self._ring = ring = RingWriter(path, about, self._settings.ring)
        return ring
