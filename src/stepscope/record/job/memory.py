"""The history of the device's allocator: from the device's first use to the end of the last recording, and saved."""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepscope.record.job.identity import JobProcess
from stepscope.record.noted import noted

if TYPE_CHECKING:
    from stepscope.record.job.report import ProcessReport
    from stepscope.record.settings import RecordSettings

#: Allocations and frees that are kept, a few hundred bytes to a few kB each; the oldest are lost.
ENTRIES: Final = 200_000


class MemoryHistory:
    """What this process allocates on its device, with Python stacks, if the settings ask for it.

    Recording starts when the device is first used, since most jobs that run out of memory do so in their first steps,
    and the stacks of parameters are known from no later moment. Nothing here uses a device that the program does not.

    Args:
        settings: What to record.
        report: Where to say what was saved; asked for whenever it is needed.
    """

    def __init__(self, settings: RecordSettings, report: Callable[[], ProcessReport]) -> None:
        self._settings = settings
        self._report = report
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget what the process recorded that this one was forked from."""
        self._pid = os.getpid()
        self._memory: Any = None
        self._runs = False
        self._awaited: set[str] = set()
        self._out_of_memory: Path | None = None
        self._not_before = 0.0

    def await_device(self) -> None:
        """Start when the program first uses a device, or at once if it has."""
        if not self._settings.memory:
            return
        if self._memory is not None and not self._runs:
            self._record()
        for name, device in (("cuda", _module("torch", "cuda")), ("npu", _module("torch_npu", "npu"))):
            if device is not None and name not in self._awaited:
                self._awaited.add(name)
                device._lazy_call(lambda name=name, device=device: self._start(name, device))

    def _start(self, name: str, device: Any) -> None:
        if os.getpid() != self._pid or self._memory is not None:
            return
        self._memory = device.memory
        self._record()
        try:
            if name == "cuda":
                sys.modules["torch"]._C._cuda_attach_out_of_memory_observer(self._ran_out)
            else:
                sys.modules["torch_npu"]._C._npu_attach_out_of_memory_observer(self._ran_out)
        except Exception as error:  # the program runs whatever happens here
            self._report().note(noted("running out of memory would not be seen ({why})", why=_first_line(error)))

    def _record(self) -> None:
        try:
            self._memory._record_memory_history(enabled="all", context="all", stacks="python", max_entries=ENTRIES)
            self._runs = True
        except Exception as error:
            self._report().note(noted("the history of memory is not recorded ({why})", why=_first_line(error)))

    def save(self) -> None:
        """Save the history so far, beside the recording of the same steps; says so where there is none."""
        if not self._settings.memory:
            return
        if self._memory is None:
            self._report().note(noted("memory was not recorded, since the program has used no GPU or NPU"))
            return
        self._write(self._new_path("memory"))

    def stop(self) -> None:
        """Record no more; running out of memory is still seen, and what is in use then."""
        if self._runs:
            self._runs = False
            try:
                self._memory._record_memory_history(enabled=None)
            except Exception as error:
                self._report().note(noted("the history of memory was not stopped ({why})", why=_first_line(error)))

    def _ran_out(self, device: int, wanted: int, total: int, free: int) -> None:
        """Save what is in use, before the error is raised; a program that goes on may run out again."""
        del total
        began = time.monotonic()
        if os.getpid() != self._pid or began < self._not_before:
            return
        report, first = self._report(), self._out_of_memory is None
        path = self._out_of_memory = self._out_of_memory or self._new_path("oom")
        if self._write(path) and first:
            report.note(
                noted(
                    "device {device} ran out of memory ({wanted:,} MiB were asked for with {free:,} MiB free);"
                    " what was in use is in {path}",
                    device=device, wanted=wanted >> 20, free=free >> 20, path=str(path),
                )
            )  # fmt: skip
            self._tell()
        # A program that runs out of memory in each step, and catches the error, is not slowed down by much.
        self._not_before = time.monotonic() + 20 * (time.monotonic() - began)

    def _new_path(self, kind: str) -> Path:
        """A name by which the rank is found."""
        worker = JobProcess.current().worker()
        return Path(self._settings.output) / f"{worker}.{time.time_ns()}.pt.{kind}.pickle"

    def _write(self, path: Path) -> bool:
        """Write the history, whole or not at all."""
        unfinished = path.with_name(f".{path.name}.unfinished")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # torch_npu's `_dump_snapshot` starts a profiler besides, which may be running.
            with unfinished.open("wb") as file:
                pickle.dump(self._memory._snapshot(), file)
            unfinished.replace(path)
        except Exception as error:
            unfinished.unlink(missing_ok=True)
            self._report().note(noted("memory could not be saved ({why})", why=_first_line(error)))
            return False
        self._report().saved(path)
        return True

    def _tell(self) -> None:
        """The launcher hears of it also if the process is killed now."""
        self._report().write(self._settings.reports)


def _module(package: str, name: str) -> Any:
    """A package's part for a kind of device, if the program has imported the package."""
    return getattr(sys.modules.get(package), name, None)


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0] or type(error).__name__
