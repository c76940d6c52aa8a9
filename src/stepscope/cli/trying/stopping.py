"""Ctrl-C and its like end a trial in order: its processes first, then what is known so far is shown."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP")


class Stopped(KeyboardInterrupt):
    """A signal asked for the end.

    Args:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.status = 128 + number


@contextmanager
def stopping() -> Iterator[None]:
    """Within, the first signal raises `Stopped` in the main thread, and further ones do nothing."""
    wakeup = signal.set_wakeup_fd(-1)
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {one: signal.getsignal(one) for one in numbers if signal.getsignal(one) != signal.SIG_IGN}
    heard: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        del frame
        heard.append(number)
        if len(heard) == 1:
            raise Stopped(number)

    for one in before:
        signal.signal(one, handler)
    try:
        yield
    finally:
        for one, previous in before.items():
            signal.signal(one, previous)
        signal.set_wakeup_fd(wakeup)
