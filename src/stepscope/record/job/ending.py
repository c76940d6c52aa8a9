"""Have something done when the process ends: by itself, as a child of multiprocessing, or terminated."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from stepscope.record.noted import noted

#: Why a recording stops with its process.
ENDED: Final = noted("the program ended")


def at_exit(leave: Callable[[], None]) -> None:
    """Have it done when the process ends by itself, or a process that multiprocessing forks from it."""
    from multiprocessing import util

    atexit.register(leave)
    # Forked children of multiprocessing run its finalizers, and no handlers of atexit.
    util.register_after_fork(leave, lambda done: util.Finalize(None, done, exitpriority=10))


class AtThreadEnd:
    """Has something done when the thread ends in whose `threading.local` it is, by that thread.

    Args:
        leave: What is to be done.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave = leave

    def __del__(self) -> None:
        self._leave()


class Termination:
    """Has something done when the process is terminated, then lets it die of the signal.

    Does nothing where the program handles the signal itself, or in threads other than the main one.

    Args:
        leave: What is to be done.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave = leave
        self._watched = False

    def watch(self) -> None:
        """Start to."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._terminated)
            self._watched = True

    def unwatch(self) -> None:
        """Stop, and handle the signal as before."""
        if self._watched and threading.current_thread() is threading.main_thread():
            self._watched = False
            if signal.getsignal(signal.SIGTERM) == self._terminated:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _terminated(self, number: int, frame: FrameType | None) -> Any:
        del frame
        try:
            self._leave()
        finally:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
