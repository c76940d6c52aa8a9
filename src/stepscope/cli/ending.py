"""A process beside the command that ends it when it is to end and its interpreter is held by a library.

Python does nothing about a signal while a library that holds the interpreter's lock works: a regular expression over a
long text, a text of JSON. The signal's number is written to a pipe all the same, by the system's handler.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Container
from typing import Final

#: Seconds between two words of a command that it lives, after a signal.
_BEAT_S: Final = 0.1
#: What is silent for so many times that is held. Counted, since on a busy machine both are late.
_SILENT: Final = 8
#: Seconds in which it has removed what is unfinished and ended its workers.
_MOST_S: Final = 10.0
_BEAT: Final = b"\0"


class Watcher:
    """The command's end of it.

    Attributes:
        reading: Where the numbers of signals can be read, each once the process beside has seen it.
        writing: Where the system's handler writes them to (`signal.set_wakeup_fd`).
        gone: Somebody has ended the process beside: nothing will be read.
    """

    def __init__(self, ends: Container[int]) -> None:
        """Start the process beside this one, where the system can fork one and it is early enough.

        Args:
            ends: Signals that end the command.
        """
        self.reading, self._passing = os.pipe()
        self._watched, self.writing = self.reading, self._passing
        self._beats: int | None = None
        self.gone = False
        if not hasattr(os, "fork") or threading.active_count() > 1:
            return
        from_command, to_watcher = os.pipe()
        try:
            child = os.fork()
        except OSError:  # no more processes: the thread reads what the handler writes
            os.close(from_command)
            os.close(to_watcher)
            return
        if child == 0:
            os.close(self.reading)
            os.close(to_watcher)
            _watch(from_command, self._passing, ends)
        # Its own end for reading stays open, so that the handler can write after the process beside has been killed.
        os.close(self._passing)
        self.writing = self._beats = to_watcher

    def beat(self) -> None:
        """Say from now on that the interpreter runs, while something is removed or waited for."""
        if self._beats is not None:
            threading.Thread(target=_beat, args=(self._beats,), name="stepscope-beats", daemon=True).start()


def _beat(to_watcher: int) -> None:
    while True:
        try:
            os.write(to_watcher, _BEAT)
        except OSError:
            return
        time.sleep(_BEAT_S)


def _watch(from_command: int, to_command: int, ends: Container[int]) -> None:
    """What the process beside does: it ends with the command, whose end of the pipe is the only one."""
    try:
        command = os.getppid()
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):  # a terminal sends them to all of its group
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):  # whoever reads the command's output waits for the command alone
            os.dup2(nothing, stream)
        until, silent = None, 0
        while True:
            ready, _, _ = select.select([from_command], [], [], None if until is None else _BEAT_S)
            silent = 0 if ready else silent + 1
            if until is not None and (silent >= _SILENT or time.monotonic() > until):
                if os.getppid() == command:
                    os.kill(command, signal.SIGKILL)
                return
            if not ready:
                continue
            if not (told := os.read(from_command, 512)):
                return
            for number in told:
                if number in ends and until is None:
                    until = time.monotonic() + _MOST_S
                if number:
                    os.write(to_command, bytes([number]))
    finally:
        os._exit(0)
