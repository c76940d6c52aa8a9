"""The process: its command line, and an end that does not take down one object after the other."""

from __future__ import annotations

import atexit
import os
import sys
import threading

from stepscope.cli.interrupts import end_when_interrupted
from stepscope.model.process.leaving import wait_if_leaving


def entry() -> None:
    """Run the command line of this process and end it."""
    end_when_interrupted(debug="--debug" in sys.argv)
    # Importing the commands takes longer than what interrupts them.
    from stepscope.cli.main import main

    try:
        main()
    except SystemExit as leaving:
        wait_if_leaving()
        if isinstance(leaving.code, int) and not _is_watched() and _is_alone():
            _leave(leaving.code)
        raise


def _leave(status: int) -> None:
    """End the process at once, unless its last words can't be said.

    Python would look for cycles among all objects, twice, and free every single one, which takes 0.2 s after a report.
    The system lets go of all of them together.
    """
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(status)


def _is_watched() -> bool:
    """Whether somebody wants to know what happens after the command: a debugger, a profiler, a person."""
    return bool(sys.gettrace() or sys.getprofile() or sys.flags.inspect or "--debug" in sys.argv)


def _is_alone() -> bool:
    """Whether no thread is left to wait for."""
    return all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate())
