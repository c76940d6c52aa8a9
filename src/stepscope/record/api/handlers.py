"""What becomes of a recording when it is ready: a file or folder by whose name `analyze` finds its rank."""

from __future__ import annotations

import gzip
import inspect
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from stepscope.record.api.backend import Backend, say
from stepscope.record.job.identity import JobProcess

#: Where recordings of NPUs go if no folder is given, and the folder in it, as torch_npu has them.
_WORK: Final = "ASCEND_WORK_PATH"
_DATA: Final = "profiling_data"


class TraceHandler:
    """Writes each recording, without more being done: `on_trace_ready` of a profile.

    Args:
        folder: Where to.
        worker: Name of the process; rank, host and number of the process if none is given.
        packed: Compress the file.
    """

    def __init__(self, folder: Path, worker: str | None, packed: bool) -> None:
        self.folder = folder
        self._worker = worker
        self._packed = packed

    def __call__(self, profiler: Any) -> None:
        """Write the recording; it is renamed when it is complete."""
        self.folder.mkdir(parents=True, exist_ok=True)
        worker = self._worker or JobProcess.current().worker()
        name = f"{worker}.{time.time_ns()}.pt.trace.json"
        unfinished = self.folder / f".{name}.unfinished"
        profiler.export_chrome_trace(str(unfinished))
        if not unfinished.exists():
            # torch 2.13 writes under another name first, and leaves it without a word where the disk is full.
            unfinished.with_name(f"{unfinished.name}.tmp").unlink(missing_ok=True)
            free = shutil.disk_usage(self.folder).free >> 20
            say(f"the recording was not written: {free} MiB are free in {self.folder}")
            return
        if not self._packed:
            unfinished.replace(self.folder / name)
            return
        packed = unfinished.with_suffix(".gz")
        with unfinished.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target)
        unfinished.unlink()
        packed.replace(self.folder / f"{name}.gz")


def tensorboard_trace_handler(
    dir_name: str | None = None,
    worker_name: str | None = None,
    use_gzip: bool = False,
    analyse_flag: bool = True,
    async_mode: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """A handler that writes each recording into a folder.

    Args:
        dir_name: The folder; `profiling_data` in `$ASCEND_WORK_PATH` if none is given, else the working folder.
        worker_name: Name of the process; rank, host and number of the process if none is given.
        use_gzip: Compress recordings; torch.profiler only.
        analyse_flag: Parse recordings at once; torch_npu only.
        async_mode: Parse in the background; torch_npu only.
        use_python_export: Accepted for scripts of newer PyTorch, without effect.
    """
    backend = Backend.installed()
    if use_python_export:
        say("use_python_export has no effect: recordings are written by torch.profiler's default writer")
    if backend.kind == "npu":
        if use_gzip:
            say("use_gzip has no effect with torch_npu.profiler: it writes folders")
        native = backend.module.tensorboard_trace_handler
        options: dict[str, Any] = {"dir_name": dir_name, "worker_name": worker_name, "analyse_flag": analyse_flag}
        if "async_mode" in inspect.signature(native).parameters:
            options["async_mode"] = async_mode
        elif async_mode:
            say("async_mode has no effect with this torch_npu, which does not have it")
        handler: Callable[[Any], None] = native(**options)
        return handler
    if not analyse_flag or async_mode:
        say("analyse_flag and async_mode have no effect with torch.profiler: its recordings need no parsing")
    work = os.environ.get(_WORK)
    folder = Path(dir_name) if dir_name else Path(work) / _DATA if work else Path.cwd()
    return TraceHandler(folder, worker_name, use_gzip)
