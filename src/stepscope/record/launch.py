"""Start a program below the launcher, and hand its signals on and its exit status back."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.settings import VARIABLE, RecordSettings
from stepscope.record.signals import SignalsToProgram

#: The folder that holds `sitecustomize`.
INJECTED: Final = Path(__file__).parent / "inject"


def environment(settings: RecordSettings, inherited: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: what it inherits, with what its Python is to load."""
    paths = [str(INJECTED), *filter(None, [inherited.get("PYTHONPATH")])]
    ours = {"PYTHONPATH": os.pathsep.join(paths), VARIABLE: settings.text()}
    return {**inherited, **ours}


def run(
    command: Sequence[str],
    settings: RecordSettings,
    inherited: Mapping[str, str],
    asking: Mapping[str, Path] | None = None,
    started: Callable[[int], None] | None = None,
    *,
    tied: bool = True,
) -> int:
    """Run a program to its end.

    Args:
        command: The program and its arguments, as a shell would start it.
        settings: What its processes are to record.
        inherited: The environment that the program would have without recording.
        asking: Signals, by name, that are not the program's but touch a file, to ask for a recording.
        started: Called with its process id.
        tied: Whether the program ends where this process is killed.

    Returns:
        Its exit status; 128 and the signal's number if a signal ended it.

    Raises:
        UserError: It can't be started.
    """
    signals = SignalsToProgram(asking or {})
    with signals.held():
        try:
            process = subprocess.Popen(
                list(command), env=environment(settings, inherited), preexec_fn=signals.as_before(tied=tied)
            )
        except OSError as error:
            raise UserError(
                said("{program} can't be started ({strerror})", program=command[0], strerror=error.strerror),
                hint=_hint(command[0]),
            ) from error
        if started is not None:
            started(process.pid)
        status = signals.wait(process)
    return status if status >= 0 else 128 - status


def _hint(program: str) -> str:
    if shutil.which(program) is None:
        return said("give a Python file or a command, as you would start it")
    return said("see whether it runs")
