"""One recording by Nsight Systems, under which the launcher runs the job: it records between two calls of CUDA."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.record.noted import noted

if TYPE_CHECKING:
    from stepscope.record.job.identity import JobProcess
    from stepscope.record.settings import RecordSettings


class NsightCapture:
    """Opens and closes the capture range of `nsys profile`, with NVTX ranges for steps and operators.

    Args:
        settings: What to record.
    """

    def __init__(self, settings: RecordSettings) -> None:
        import torch

        self._torch: Any = torch
        self._settings = settings
        self._operators: Any = None
        self._problem = ""
        self._marked = False
        self._open = False

    def prepare(self) -> None:
        """Nothing: `nsys` has been there from the start."""

    def cancel(self) -> None:
        """Close the capture range, if it is open."""
        if self._open:
            self.stop()

    def start(self, process: JobProcess, details: dict[str, Any]) -> Path:
        """Open the capture range.

        Raises:
            RuntimeError: The program uses no GPU.
        """
        del process, details
        cuda = self._torch.cuda
        if not cuda.is_initialized():
            raise RuntimeError(noted("Nsight Systems records GPUs, and this process has used none so far"))
        cuda.synchronize()
        cuda.profiler.start()
        self._open = True
        operators = self._torch.autograd.profiler.emit_nvtx(record_shapes=self._settings.shapes)
        try:
            operators.__enter__()
            self._operators = operators
        except RuntimeError as error:  # the program's own profiler runs
            self._problem = noted("the recording has no operators ({why})", why=str(error).splitlines()[0])
        return Path(self._settings.output)

    def mark(self, number: int) -> None:
        """End the step that is going on, and start another."""
        self._end_mark()
        self._torch.cuda.nvtx.range_push(f"ProfilerStep#{number}")
        self._marked = True

    def _end_mark(self) -> None:
        if self._marked:
            self._torch.cuda.nvtx.range_pop()
            self._marked = False

    def stop(self, partial: str = "") -> None:
        """Close the capture range, behind the last kernel of the last step."""
        del partial
        self._open = False
        self._end_mark()
        if self._operators is not None:
            self._operators.__exit__(None, None, None)
        self._torch.cuda.synchronize()
        self._torch.cuda.profiler.stop()

    def write(self) -> str:
        """Nothing: `nsys` writes when the range is closed; says what the recording lacks."""
        return self._problem
