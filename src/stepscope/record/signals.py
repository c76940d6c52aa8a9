"""Hand the launcher's signals on to the program, and wait for its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from stepscope.model.process.system import library_function
from stepscope.record.witness import GroupWitness

#: Signals that are meant for the program, by name; which there are depends on the system.
_FORWARDED: Final = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGQUIT")
#: Those that a terminal sends to every process in its foreground, the program among them.
_OF_TERMINAL: Final = ("SIGINT", "SIGQUIT", "SIGHUP")
#: `si_code` of a signal that the kernel sends, as it does for a key at the terminal (sigaction(2)).
_SI_KERNEL: Final = 0x80
#: Seconds between two looks at the program, where its end is not seen otherwise.
_LOOK_S: Final = 1.0


def start_deaf(thread: threading.Thread) -> None:
    """Start a thread that takes no signals: those that it took would not wake the thread that waits for them."""
    if not hasattr(signal, "pthread_sigmask"):
        thread.start()
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class SignalsToProgram:
    """What the launcher does with its signals, from before the program starts until it has ended.

    What is sent to their whole process group, as by a terminal, reaches the program as well; the rest is for the
    launcher alone, and handed on. A witness tells which it was (Linux); elsewhere those that a terminal sends count as
    the group's if there is one.

    Args:
        asking: Signals, by name, that are not the program's but touch a file.
    """

    def __init__(self, asking: Mapping[str, Path]) -> None:
        self._asking = asking
        names = [name for name in _FORWARDED if hasattr(signal, name)]
        numbers = {name: int(getattr(signal, name)) for name in names}
        # What the launcher was started to ignore, as under nohup or in the background of a script, the program is
        # started to ignore as well. It may handle it all the same: so it is handed on, where the program's process can
        # be made to ignore it before it becomes the program.
        self._ignored = [number for number in numbers.values() if signal.getsignal(number) == signal.SIG_IGN]
        left_alone = () if sys.platform == "linux" else self._ignored
        self._names = {number: name for name, number in numbers.items() if number not in left_alone}
        self._waits = hasattr(signal, "sigtimedwait")
        self._mask: set[Any] = set()
        self._pending: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._witness: GroupWitness | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within, no signal ends the launcher."""
        wakeup = signal.set_wakeup_fd(-1)
        before = {number: signal.getsignal(number) for number in self._names}
        for number in self._names:
            # Handlers, not SIG_IGN: that would be inherited. Signals arrive here where another thread takes them.
            signal.signal(number, self._handler)
        if self._waits:
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*self._names, signal.SIGCHLD})
            self._witness = GroupWitness()
        try:
            yield
        finally:
            if self._witness is not None:
                self._witness.end()
            if self._waits:
                signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakeup)

    def as_before(self, *, tied: bool = True) -> Callable[[], None] | None:
        """What the program's process does before it becomes the program, so that it starts as without a launcher.

        Args:
            tied: Whether the program is to end where the launcher is killed.
        """
        if sys.platform != "linux":
            return None
        kept, ignored, launcher = self._mask, self._ignored, os.getpid()
        prctl = library_function("prctl")

        def prepare() -> None:
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, kept)
            if not tied:
                return
            # Whoever kills what was started kills the program (PR_SET_PDEATHSIG of prctl(2)).
            if prctl is not None:
                prctl(1, int(signal.SIGKILL))
            if os.getppid() != launcher:
                os.kill(os.getpid(), signal.SIGKILL)

        return prepare

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for the program; its exit status as `subprocess` has it."""
        self._process = process
        while self._pending:
            self._send(self._pending.pop(0))
        if not self._waits:
            return process.wait()
        watched = [*self._names, signal.SIGCHLD]
        while process.poll() is None:
            info = signal.sigtimedwait(watched, _LOOK_S)
            if info is not None and info.si_signo in self._names:
                self._arrived(info.si_signo, by_terminal=info.si_code == _SI_KERNEL)
        assert process.returncode is not None
        return process.returncode

    def _handler(self, number: int, frame: Any) -> None:
        del frame
        self._arrived(number, by_terminal=sys.stdin is not None and sys.stdin.isatty())

    def _arrived(self, number: int, *, by_terminal: bool) -> None:
        name = self._names[number]
        if self._witness is not None and self._witness.is_there:
            of_group = self._witness.got_too(number)
        else:
            of_group = by_terminal and name in _OF_TERMINAL
        if name in self._asking:
            self._asking[name].touch()
        elif not of_group:
            self._send(number)

    def _send(self, number: int) -> None:
        if self._process is None:
            self._pending.append(number)
        else:
            self._process.send_signal(number)
