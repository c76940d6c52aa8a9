"""End the process at any moment, removing unfinished files first, whatever its threads are doing.

An exception raised in the middle of the work would have to pass through libraries that turn it into another one, or
that can't be left before they are done.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NoReturn

#: What is to be done before the end, the last first.
_ACTIONS: Final[dict[object, Callable[[], object]]] = {}
#: Files and folders that are to be removed then, and the process that made them: one that is forked off owns nothing.
_PATHS: Final[dict[Path, int]] = {}
_GUARD: Final = threading.Lock()
_LEAVING: Final = threading.Event()
#: Held while a worker is being started, which is not among the workers yet.
_STARTING: Final = threading.Lock()
#: Held while something is made that goes with the process, which is not among the paths yet.
_MAKING: Final = threading.Lock()
#: What a worker leaves to the process that started it.
_OF_OWNER: Final = [getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]
#: Other threads may still put something into a folder that is being removed, which is then tried again.
_ATTEMPTS: Final = 20
_AGAIN_SECONDS: Final = 0.01
#: How often a worker looks whether it is still wanted.
_LOOK_SECONDS: Final = 1.0
#: Processes that were killed are gone, and their locks, in some milliseconds, or later on a busy machine.
_GONE_SECONDS: Final = 2.0
#: What Python does at an end takes no longer if it ends at all.
_CLEARED_SECONDS: Final = 0.5


@contextmanager
def before_leaving(action: Callable[[], object]) -> Iterator[None]:
    """Have something done if the process ends by `leave` while the block runs."""
    key = object()
    _ACTIONS[key] = action
    try:
        yield
    finally:
        _ACTIONS.pop(key, None)


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """A file or folder that is of no use before the block ends: it goes with the process."""
    goes_with_process(path)
    try:
        yield
    finally:
        stays(path)


def goes_with_process(path: Path) -> None:
    """Have a file or folder removed if the process ends by `leave`, unless it `stays`."""
    wait_if_leaving()
    _PATHS[path] = os.getpid()


def made_to_go(make: Callable[[], Path]) -> Path:
    """Make a file or folder that goes with the process: at no moment is it there and missed by `leave`."""
    wait_if_leaving()
    with _MAKING:
        path = make()
        _PATHS[path] = os.getpid()
    wait_if_leaving()
    return path


def stays(path: Path) -> None:
    """Have a file or folder stay whatever happens, or be none of the process's any more."""
    _PATHS.pop(path, None)


def _remove(path: Path) -> None:
    for _ in range(_ATTEMPTS):
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            path.unlink(missing_ok=True)
        if not os.path.lexists(path):
            return
        time.sleep(_AGAIN_SECONDS)


def leave(status: int, sentence: str) -> NoReturn:
    """End the process now, with its workers and threads, and remove unfinished files.

    Args:
        status: Its exit status.
        sentence: What is said on standard error.
    """
    with _GUARD:  # whoever comes second waits for the end
        _LEAVING.set()
        with suppress(OSError, ValueError):
            sys.stderr.write(sentence)
            sys.stderr.flush()
        # Threads that wait for workers may fail when these end, which is not to be said.
        threading.excepthook = lambda _: None
        _end_workers()
        for action in reversed(tuple(_ACTIONS.values())):
            with suppress(Exception):  # the others are to be done all the same
                action()
        _MAKING.acquire(timeout=_GONE_SECONDS)
        for path, owner in tuple(_PATHS.items()):
            if owner == os.getpid():
                _remove(path)
        os._exit(status)


@contextmanager
def starting_worker() -> Iterator[None]:
    """Around the start of a worker: none starts once the process is leaving, and none is missed by who ends them.

    Until the worker does so itself (`work_for`), it hears nothing of Ctrl-C and the terminal's closing, at which a
    Python that is just starting would say where it was.
    """
    with _STARTING:
        if not _LEAVING.is_set():
            blocks = hasattr(signal, "pthread_sigmask")
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_OWNER) if blocks else set()
            try:
                yield
            finally:
                if blocks:
                    signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return
    wait_if_leaving()


def _end_workers() -> None:
    # Imported by who has started any, which takes a while.
    library: Any = sys.modules.get("multiprocessing")
    if library is None:
        return
    # One that is being started is told of in some milliseconds.
    _STARTING.acquire(timeout=_GONE_SECONDS)
    workers = library.active_children()
    for worker in workers:
        worker.kill()
    end = time.monotonic() + _GONE_SECONDS
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
    # What Python does at an end, which may wait for threads that write to those workers.
    clear_up = getattr(library.util, "_exit_function", None)
    clearing = threading.Thread(target=clear_up, daemon=True)
    clearing.start()
    clearing.join(_CLEARED_SECONDS)


def work_for(owner: int) -> None:
    """Let this process end with the one that started it, which alone receives Ctrl-C and the terminal's closing."""
    for number in _OF_OWNER:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_OWNER)
    threading.Thread(target=_end_with, args=(owner,), name="stepscope-owner", daemon=True).start()


def _end_with(owner: int) -> None:
    while os.getppid() == owner:
        time.sleep(_LOOK_SECONDS)
    leave(1, "")


def wait_if_leaving() -> None:
    """Say no more and don't end otherwise, if another thread is ending the process."""
    if _LEAVING.is_set():
        threading.Event().wait()
