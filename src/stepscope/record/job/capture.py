"""One recording by torch.profiler: prepared, started, its steps marked, and written."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepscope.record.job import kineto, unimported
from stepscope.record.job.journal import Journal
from stepscope.record.noted import noted

if TYPE_CHECKING:
    from stepscope.record.job.identity import JobProcess
    from stepscope.record.settings import RecordSettings

_NO_STACKS: Final = noted(
    "Python functions were left out, since the program has a profile function of its own (cProfile)"
)


class Capture:
    """A recording of this process.

    Args:
        settings: What to record.
        all_threads: Record operators of every thread, not only those of the calling one and the backward pass.
    """

    def __init__(self, settings: RecordSettings, *, all_threads: bool = False) -> None:
        import torch

        self._torch = torch
        self._settings = settings
        self._mark: Any = None
        self._journal: Journal | None = None
        self._state = "made"
        # torch would take the place of a profile function that the program has, and not put it back.
        self._stacks_left_out = settings.stacks and _has_profile_function()
        self._profiler: Any = torch.profiler._KinetoProfile(
            activities=torch.profiler.supported_activities(),
            record_shapes=settings.shapes,
            profile_memory=settings.allocations,
            with_stack=settings.stacks and not self._stacks_left_out,
            experimental_config=_details(settings, all_threads),
        )

    def prepare(self) -> None:
        """Set the profiler up, which takes long the first time."""
        with kineto.first_use():
            unimported.prepare(self._profiler)
        self._state = "prepared"

    def cancel(self) -> None:
        """Leave no profiler running, and write nothing.

        Another profiler would lose what devices did beside one that is only set up.
        """
        state, self._state = self._state, "over"
        self._end_mark()
        with kineto.quiet():
            if state == "prepared":
                self._profiler.start_trace()
            if state in ("prepared", "started"):
                self._profiler.stop_trace()

    def start(self, process: JobProcess, details: dict[str, Any]) -> Path:
        """Start to record.

        Args:
            process: Whose recording it is.
            details: What the recording is to say about itself, as JSON.

        Returns:
            The file, under a name by which the rank is found; step marks are there from now on.
        """
        path = Path(self._settings.output) / f"{process.worker()}.{time.time_ns()}.pt.trace.json"
        self._journal = Journal(path, process, details)
        with kineto.quiet():
            self._profiler.start_trace()
        self._state = "started"
        if process.world_size > 1 and not process.joined:
            info = {"rank": process.rank, "world_size": process.world_size}
            self._profiler.add_metadata_json("distributedInfo", json.dumps(info))
        self._profiler.add_metadata_json("stepscope", json.dumps(details))
        return path

    def mark(self, number: int) -> None:
        """End the step that is going on, and start another; what is done for that lies in neither."""
        self._end_mark()
        if self._journal is not None:
            self._journal.mark(number)
        mark = self._torch.profiler.record_function(f"ProfilerStep#{number}")
        mark.__enter__()
        self._mark = mark

    def _end_mark(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.__exit__(None, None, None)

    def stop(self, partial: str = "") -> None:
        """Stop recording.

        Args:
            partial: Why the last step is not whole, if it is not; the recording says so.
        """
        if self._state != "started":
            return
        self._end_mark()
        self._state = "over"
        with kineto.quiet():
            if partial:
                self._profiler.add_metadata_json("stepscope_partial", json.dumps(partial))
            self._profiler.stop_trace()

    def write(self) -> str:
        """Write the recording in the place of its journal, once it is complete.

        Returns:
            What is wrong with it, if anything.
        """
        if self._journal is None:
            return ""
        self._journal.close()
        final = self._journal.path
        temporary = final.with_name(f".{final.name}.unfinished")
        reason = ""
        try:
            with kineto.quiet():
                self._profiler.export_chrome_trace(str(temporary))
        except (OSError, RuntimeError) as error:
            reason = str(error).split("\n", 1)[0]
        # torch 2.13 writes under this name, and leaves it where that fails.
        begun = temporary.with_name(f"{temporary.name}.tmp")
        try:
            if begun.exists():
                begun.replace(temporary)
            whole = not reason and is_whole(temporary)
            # Of a recording that is cut more is left than of its journal.
            if whole or temporary.stat().st_size > final.stat().st_size:
                temporary.replace(final)
        except OSError as error:
            whole, reason = False, reason or (error.strerror or "")
        with contextlib.suppress(OSError):
            temporary.unlink()
        if not whole:
            return noted("the recording is cut ({reason})", reason=reason or _space(final.parent))
        return _NO_STACKS if self._stacks_left_out else ""


def is_whole(path: Path) -> bool:
    """Whether a text ends as a trace does: torch.profiler says nothing where the disk is full."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - 64))
        return file.read().rstrip().endswith(b"}")


def _space(folder: Path) -> str:
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(folder).free >> 20
        return noted("{free} MiB are free in {folder}", free=free, folder=str(folder))
    return noted("{folder} is gone", folder=str(folder))


def _has_profile_function() -> bool:
    return sys.getprofile() is not None or getattr(threading, "_profile_hook", None) is not None


def _details(settings: RecordSettings, all_threads: bool) -> Any:
    """Options of torch.profiler that newer versions have; None where this one lacks them."""
    from torch._C import _profiler as options

    wanted: dict[str, Any] = {"record_python_gc_info": settings.stacks}
    if all_threads:
        wanted["profile_all_threads"] = True
    with contextlib.suppress(TypeError):
        return options._ExperimentalConfig(**wanted)
    return None
