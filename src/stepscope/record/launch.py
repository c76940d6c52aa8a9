"""Start a program below the launcher, and hand its signals on and its exit status back."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from stepscope.model.errors import UserError
from stepscope.record.settings import VARIABLE, RecordSettings

#: The folder that holds `sitecustomize`.
INJECTED: Final = Path(__file__).parent / "inject"
#: Signals that are meant for the program, by name; which there are depends on the system.
_FORWARDED: Final = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")

#: torch.profiler would report its start and its end on the program's standard error, in messages of the levels up to 5.
_LEVEL_OF_PROFILER: Final = "KINETO_LOG_LEVEL"
_NO_MESSAGES: Final = "6"


def environment(settings: RecordSettings, inherited: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: that of this process, with what its Python is to load."""
    paths = [str(INJECTED), *filter(None, [inherited.get("PYTHONPATH")])]
    ours = {"PYTHONPATH": os.pathsep.join(paths), VARIABLE: settings.text()}
    return {_LEVEL_OF_PROFILER: _NO_MESSAGES, **inherited, **ours}


def run(
    command: Sequence[str],
    settings: RecordSettings,
    asking: Mapping[str, Path] | None = None,
    started: Callable[[int], None] | None = None,
) -> int:
    """Run a program to its end.

    Args:
        command: The program and its arguments, as a shell would start it.
        settings: What its processes are to record.
        asking: Signals, by name, that are not the program's but touch a file, to ask for a recording.
        started: Called with its process id.

    Returns:
        Its exit status; 128 and the signal's number if a signal ended it.

    Raises:
        UserError: It can't be started.
    """
    inherited = environment(settings, os.environ)
    with _quiet_to_signals(asking or {}) as forward_to:
        try:
            process = subprocess.Popen(list(command), env=inherited)
        except OSError as error:
            raise UserError(
                f"{command[0]} can't be started ({error.strerror})",
                hint=_hint(command[0]),
            ) from error
        forward_to.append(process)
        if started is not None:
            started(process.pid)
        status = process.wait()
    return status if status >= 0 else 128 - status


def _hint(program: str) -> str:
    if program.endswith(".py"):
        return f"give the program as you would start it: python {program}"
    return "give a program after --, as you would start it" if shutil.which(program) is None else "see whether it runs"


@contextmanager
def _quiet_to_signals(asking: Mapping[str, Path]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Leave Ctrl-C to the program, which the terminal sends it, too, and hand other signals on to it."""
    running: list[subprocess.Popen[bytes]] = []

    def forward(number: int, frame: Any) -> None:
        del frame
        for process in running:
            process.send_signal(number)

    def ask(number: int, frame: Any) -> None:
        del frame
        asking[signal.Signals(number).name].touch()

    def leave_to_program(number: int, frame: Any) -> None:
        # A handler, not SIG_IGN: that would be inherited.
        del number, frame

    wakeup = signal.set_wakeup_fd(-1)
    numbers = [getattr(signal, name) for name in _FORWARDED if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in [*numbers, signal.SIGINT]}
    for number in numbers:
        if before[number] != signal.SIG_IGN:
            signal.signal(number, ask if signal.Signals(number).name in asking else forward)
    if before[signal.SIGINT] != signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave_to_program)
    try:
        yield running
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
