"""Give up waiting for a step, and have a stretch of time recorded instead."""

from __future__ import annotations

import _thread
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.record.job.recorder import Recorder


class Patience:
    """A thread that waits until a step is found, or has been for too long.

    It is none of `threading`, so that the program counts and finds its own threads alone, and is gone before
    the process forks: a process with a single thread stays one. What forks, or is forked, shows steps or starts others.

    Args:
        recorder: What records the process.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._ended = threading.Event()
        self._ended.set()

    def start(self) -> None:
        """Start to wait, if the settings say how long."""
        if not self._recorder.settings.patience_s:
            return
        self._ended.clear()
        _thread.start_new_thread(self._wait, ())

    def end(self) -> None:
        """Wait no more; a stretch that is being recorded ends here."""
        if not self._ended.is_set():
            self._recorder.needs_no_patience.set()
            self._ended.wait(1.0)

    def _wait(self) -> None:
        try:
            if not self._recorder.needs_no_patience.wait(self._recorder.settings.patience_s):
                self._recorder.record_stretch()
        finally:
            self._ended.set()
