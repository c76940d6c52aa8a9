"""Kineto's own trigger: a program with `KINETO_USE_DAEMON` asks a daemon, dynolog, whether it is to record.

See https://github.com/facebookincubator/dynolog and its `dyno gputrace`. Nothing of stepscope is in the program then,
so that it is a stretch of time that is recorded, on devices that Kineto knows.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import StepscopeError, UserError
from stepscope.record.job.capture import is_whole
from stepscope.record.watching.refusing import variables_of

_VARIABLE: Final = "KINETO_USE_DAEMON"
_STRETCH_MS: Final = 2000
#: The command that asks dynolog.
_DYNO: Final = "dyno"
_LOOK_S: Final = 0.1


def can_be_asked(pid: int) -> bool:
    """Whether a process asks a daemon, and there is a way to reach it."""
    return variables_of(pid).get(_VARIABLE, "0") not in ("", "0") and shutil.which(_DYNO) is not None


def record_by_daemon(pid: int, folder: Path, timeout_s: float, refused: StepscopeError) -> bool:
    """Have dynolog record two seconds of a process that is not prepared for us; whether the process asks a daemon.

    Args:
        pid: The process.
        folder: Where to.
        timeout_s: Seconds to wait for the recording.
        refused: Why it can't be asked by us.

    Raises:
        UserError: It asks a daemon, but there is none, or no recording came.
    """
    if variables_of(pid).get(_VARIABLE, "0") in ("", "0"):
        return False
    dyno = shutil.which(_DYNO)
    if dyno is None:
        raise UserError(
            said(
                "{refused}; it asks a daemon ({variable}), but there is no dyno here",
                refused=refused.message,
                variable=_VARIABLE,
            ),
            hint="install dynolog and start its daemon, or start the program with stepscope record --wait",
        )
    # The daemon puts the number of the process before the suffix.
    log = folder / "kineto.pt.trace.json"
    command = [dyno, "gputrace", "--pids", str(pid), "--log-file", str(log), "--duration-ms", str(_STRETCH_MS)]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(said("dyno did not answer ({error})", error=error), hint="see whether dynolog runs") from error
    last = ((done.stderr or done.stdout).strip().splitlines()[-1:] or [said("no word")])[0]
    if done.returncode:
        message = said("dyno could not have process {pid} recorded ({last})", pid=pid, last=last)
        raise UserError(message, hint="see whether dynolog runs")
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        found = [one for one in folder.glob("kineto*.json") if is_whole(one)]
        if found:
            return True
        time.sleep(_LOOK_S)
    raise UserError(
        said(
            "dynolog was asked, but process {pid} wrote no recording in {timeout_s:.0f} s ({last})",
            pid=pid,
            timeout_s=timeout_s,
            last=last,
        ),
        hint="the program asks while its profiler is set up only: see its standard error",
    )
