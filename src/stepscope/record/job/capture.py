"""One recording by torch.profiler: prepared, started, its steps marked, and written."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepscope.record.job.identity import JobProcess
    from stepscope.record.settings import RecordSettings


class Capture:
    """A recording of this process.

    Args:
        settings: What to record.
        all_threads: Record operators of every thread, not only those of the calling one and the backward pass.
    """

    def __init__(self, settings: RecordSettings, *, all_threads: bool = False) -> None:
        import torch

        self._torch = torch
        self._mark: Any = None
        self._profiler: Any = torch.profiler._KinetoProfile(
            activities=torch.profiler.supported_activities(),
            record_shapes=settings.shapes,
            profile_memory=settings.allocations,
            with_stack=settings.stacks,
            experimental_config=_details(settings, all_threads),
        )

    def prepare(self) -> None:
        """Set the profiler up, which takes long the first time."""
        self._profiler.prepare_trace()

    def start(self, process: JobProcess, details: dict[str, Any]) -> None:
        """Start to record.

        Args:
            process: Whose recording it is.
            details: What the recording is to say about itself, as JSON.
        """
        self._profiler.start_trace()
        if process.world_size > 1 and not process.joined:
            info = {"rank": process.rank, "world_size": process.world_size}
            self._profiler.add_metadata_json("distributedInfo", json.dumps(info))
        self._profiler.add_metadata_json("stepscope", json.dumps(details))

    def mark(self, number: int) -> None:
        """End the step that is going on, and start another."""
        self.end_mark()
        self._mark = self._torch.profiler.record_function(f"ProfilerStep#{number}")
        self._mark.__enter__()

    def end_mark(self) -> None:
        """End the step that is going on, if any."""
        if self._mark is not None:
            self._mark.__exit__(None, None, None)
            self._mark = None

    def stop(self) -> None:
        """Stop recording."""
        self.end_mark()
        self._profiler.stop_trace()

    def write(self, folder: Path, worker: str) -> Path:
        """Write the recording under a name by which its rank is found.

        Returns:
            The file.

        Raises:
            OSError: It can't be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        final = folder / f"{worker}.{time.time_ns()}.pt.trace.json"
        temporary = folder / f".{final.name}.unfinished"
        try:
            self._profiler.export_chrome_trace(str(temporary))
            temporary.rename(final)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        return final


def _details(settings: RecordSettings, all_threads: bool) -> Any:
    """Options of torch.profiler that newer versions have; None where this one lacks them."""
    from torch._C import _profiler as options

    wanted: dict[str, Any] = {"record_python_gc_info": settings.stacks}
    if all_threads:
        wanted["profile_all_threads"] = True
    with contextlib.suppress(TypeError):
        return options._ExperimentalConfig(**wanted)
    return None
