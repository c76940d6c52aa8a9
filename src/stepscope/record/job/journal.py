"""What is left if the process is killed while it records: the steps so far, in a file that always opens."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from stepscope.record.noted import noted

if TYPE_CHECKING:
    from stepscope.record.job.identity import JobProcess

_KILLED: Final = noted("the program was killed while it was recorded")


class Journal:
    """A recording of step marks alone, written line by line under the name that the whole recording will take.

    Its text is a trace that ends in the middle, which readers of traces know how to read.

    Args:
        path: The file.
        process: Whose recording it is.
        details: What the recording is to say about itself.

    Raises:
        OSError: It can't be written.
    """

    def __init__(self, path: Path, process: JobProcess, details: dict[str, Any]) -> None:
        self.path = path
        self._process = process
        self._open_ns = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] | None = path.open("w", encoding="utf-8")
        head: dict[str, Any] = {"schemaVersion": 1, "stepscope_partial": _KILLED}
        head["stepscope"] = details
        if process.world_size > 1:
            head["distributedInfo"] = {"rank": process.rank, "world_size": process.world_size}
        self._write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        self._range("stepscope: recording started", time.time_ns(), 1_000)

    def mark(self, number: int) -> None:
        """A step starts, and the one that was going on ends."""
        now = time.time_ns()
        if self._open_ns:
            self._range(f"ProfilerStep#{number - 1}", self._open_ns, now - self._open_ns)
        self._open_ns = now

    def close(self) -> None:
        """Write no more."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _range(self, name: str, ts_ns: int, dur_ns: int) -> None:
        event = {
            "ph": "X", "cat": "user_annotation", "name": name, "pid": os.getpid(), "tid": os.getpid(),
            "ts": ts_ns / 1e3, "dur": dur_ns / 1e3,
        }  # fmt: skip
        self._write(json.dumps(event) + ",\n")

    def _write(self, text: str) -> None:
        if self._file is None:
            return
        try:
            self._file.write(text)
            self._file.flush()
        except OSError:
            # The whole recording may find space, or says that there is none.
            self.close()
