"""Ctrl-C ends a command at once, whatever it is doing, and leaves nothing unfinished behind; so do other signals."""

from __future__ import annotations

import os
import signal
import threading
from typing import Final, NoReturn

from stepscope.cli.ending import Watcher

#: The shell's convention for a process that was interrupted.
INTERRUPTED: Final = 130
#: What ends a command, by the name of the signal: what is said, and the exit status, which is 128 and the signal's
#: number. A scheduler terminates what has had its time; a terminal that is closed hangs up.
_ENDS: Final = {"SIGINT": ("interrupted", INTERRUPTED), "SIGTERM": ("terminated", 143), "SIGHUP": ("hung up", 129)}


def end_when_interrupted(*, debug: bool) -> None:
    """Have a thread of its own end the process when it is interrupted or terminated.

    Python tells the main thread, once that is back from whatever library it is in; DuckDB looks by itself, and makes
    an error of its own of it. The system's signal is written to a pipe at once. Where the library holds the
    interpreter, too, no thread can do anything: a process beside this one kills it then.

    Args:
        debug: Show where each thread was.
    """
    heard = {getattr(signal, name): end for name, end in _ENDS.items() if _is_meant_for_us(name)}
    if not heard:
        return
    watcher = Watcher(heard)
    if hasattr(os, "set_blocking"):
        os.set_blocking(watcher.writing, False)
    for number in heard:
        signal.signal(number, lambda number, _: _leave(heard[number], debug) if watcher.gone else None)
    signal.set_wakeup_fd(watcher.writing, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(watcher, heard, debug), name="stepscope-interrupts", daemon=True).start()


def _is_meant_for_us(name: str) -> bool:
    """Whether this system has the signal, and it is not ignored, as in the background of a shell or after `nohup`."""
    number = getattr(signal, name, None)
    return number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


def _wait(watcher: Watcher, heard: dict[int, tuple[str, int]], debug: bool) -> None:
    while (said := os.read(watcher.reading, 1)) and said[0] not in heard:
        pass
    if not said:  # somebody has killed the process beside: the main thread is to do it
        watcher.gone = True
        return
    watcher.beat()
    _leave(heard[said[0]], debug)


def _leave(end: tuple[str, int], debug: bool) -> NoReturn:
    from stepscope.model.process.leaving import leave

    if debug:
        import faulthandler

        faulthandler.dump_traceback(all_threads=True)
    said, status = end
    leave(status, f"stepscope: {said}.\n")
