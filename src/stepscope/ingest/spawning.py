"""Processes that are spawned without running the program again that spawns them.

A spawned process imports the main module of its parent, for functions defined there. A script that calls the library
without `if __name__ == "__main__":` would run a second time in each worker, and end it. Tasks of this package are
functions of its own modules, so that no worker needs the script.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any, Final

from stepscope.model.process.leaving import starting_worker

_GUARD: Final = threading.Lock()


class _Process(SpawnProcess):
    def start(self) -> None:
        with starting_worker():
            super().start()

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 (called so by the library)
        with _no_main_module():
            return SpawnProcess._Popen(process_obj)


class ProgramFree(SpawnContext):
    """A start method for `ProcessPoolExecutor`: spawned processes that leave the parent's main module alone."""

    Process = _Process


@contextmanager
def _no_main_module() -> Iterator[None]:
    """An empty main module, for the milliseconds in which a process is described to its child."""
    with _GUARD:
        program = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = program
