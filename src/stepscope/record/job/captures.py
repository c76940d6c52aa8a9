"""Which profiler records this process: torch's, torch_npu's where it has an NPU, or Nsight Systems around the job."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from stepscope.record.job.ascend import AscendCapture
from stepscope.record.job.capture import Capture
from stepscope.record.job.nsight import NsightCapture

if TYPE_CHECKING:
    from pathlib import Path

    from stepscope.record.job.identity import JobProcess
    from stepscope.record.settings import RecordSettings


class AnyCapture(Protocol):
    """One recording."""

    def prepare(self) -> None:
        """Set the profiler up, before the first recorded step."""

    def cancel(self) -> None:
        """It will not be started, or written: leave nothing running."""

    def start(self, process: JobProcess, details: dict[str, Any]) -> Path:
        """Start to record; returns what is written in the end."""

    def mark(self, number: int) -> None:
        """End the step that is going on, and start another."""

    def stop(self, partial: str = "") -> None:
        """Stop recording; `partial` says why the last step is not whole, if it is not."""

    def write(self) -> str:
        """Write the recording; returns what is wrong with it, if anything."""


def new_capture(settings: RecordSettings, *, all_threads: bool = False) -> AnyCapture:
    """A recording that has not started yet.

    Args:
        settings: What to record.
        all_threads: Record operators of every thread, where the profiler does not anyway.
    """
    if settings.profiler == "nsys":
        return NsightCapture(settings)
    npu: Any = sys.modules.get("torch_npu")
    if npu is not None and npu.npu.is_available():
        return AscendCapture(settings)
    return Capture(settings, all_threads=all_threads)
