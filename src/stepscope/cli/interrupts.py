"""Ctrl-C ends a command at once, whatever it is doing, and leaves nothing unfinished behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Final

#: The shell's convention for a process that was interrupted.
INTERRUPTED: Final = 130


def end_when_interrupted(*, debug: bool) -> None:
    """Have a thread of its own end the process when it is interrupted.

    Python tells the main thread, once that is back from whatever library it is in; DuckDB looks by itself, and makes
    an error of its own of it. The system's signal is written to a pipe at once.

    Args:
        debug: Show where each thread was.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # as in the background of a shell: the signal is not for us
    reading, writing = os.pipe()
    if sys.platform != "win32":
        os.set_blocking(writing, False)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(reading, debug), name="stepscope-interrupts", daemon=True).start()


def _wait(reading: int, debug: bool) -> None:
    while os.read(reading, 1) != bytes([signal.SIGINT]):
        pass
    from stepscope.model.process.leaving import leave

    if debug:
        import faulthandler

        faulthandler.dump_traceback(all_threads=True)
    leave(INTERRUPTED, "stepscope: interrupted.\n")
