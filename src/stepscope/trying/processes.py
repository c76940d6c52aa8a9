"""Start a run, find all of its processes, and end them: none is left, whoever started it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from stepscope.language import said
from stepscope.model.errors import UserError

#: Helpers that free shared memory when all others have ended, and seconds that they have for it.
_HELPERS: Final = (b"resource_tracker", b"torch_shm_manager")
_HELPING_S: Final = 2.0
#: Seconds after which those that the system can't end are left to it.
_LAST_S: Final = 20.0


def start(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, output: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that keys at the terminal do not reach it.

    Raises:
        UserError: It can't be started.
    """
    try:
        return subprocess.Popen(
            list(command), env=dict(environment), cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_dies_with_us(),
        )  # fmt: skip
    except OSError as error:
        hint = said("give the program as you would start it")
        message = said("{program} can't be started ({strerror})", program=command[0], strerror=error.strerror)
        raise UserError(message, hint=hint) from error


def _dies_with_us() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    import ctypes

    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def prepare() -> None:
        # PR_SET_PDEATHSIG of prctl(2): whoever kills the launcher ends what it started.
        prctl(1, int(signal.SIGKILL))
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare


def of_run(token: str) -> list[int]:
    """Processes whose environment has the token of a run, those that started others first; of Linux only."""
    mark, found = f'"token": "{token}"'.encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def processes_below(folder: Path) -> list[int]:
    """Processes whose working folder lies in a folder; of Linux only."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink().is_relative_to(folder):
                found.append(int(entry.name))
    return sorted(found)


def end(process: subprocess.Popen[bytes], token: str) -> None:
    """End a run: its first process, those of its session, and all others with its token.

    They are killed, since a program that is asked to end may save its state, or have itself started again.
    """
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()
    until = time.monotonic() + _HELPING_S
    last = until + _LAST_S
    while (left := of_run(token)) and time.monotonic() < last:
        helpers = [one for one in left if _is_helper(one)]
        for one in left:
            if one not in helpers or time.monotonic() > until:
                with contextlib.suppress(OSError):
                    os.kill(one, signal.SIGKILL)
        time.sleep(0.02)
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)


def _is_helper(pid: int) -> bool:
    with contextlib.suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        return any(one in line for one in _HELPERS)
    return False
