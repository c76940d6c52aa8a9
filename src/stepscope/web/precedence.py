"""Who goes first: what somebody waits for, or what is made meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Whoever looks at a timeline asks again within this time, s.
_QUIET_SECONDS: Final = 3.0
#: What is made meanwhile waits for so long in all, s, and for this part of the time since it began.
_PATIENCE_SECONDS: Final = 10.0
_PATIENCE_SHARE: Final = 0.5


class Precedence:
    """Lets questions that somebody waits for have the processor alone.

    Who waits for `patience` and half of the time since it began, waiting included, takes at most twice as long, and
    twice `patience`.

    Args:
        start: Seconds in which the first question may still come.
        quiet: Seconds without a question after which the other work goes on.
        patience: Seconds that it waits in all, besides half of the time since it first waited.
    """

    def __init__(self, start: float = 0.0, quiet: float = _QUIET_SECONDS, patience: float = _PATIENCE_SECONDS) -> None:
        self._quiet, self._patience = quiet, patience
        self._changed = threading.Condition()
        self._asked = 0
        self._answered = time.monotonic() + start - quiet
        self._began: float | None = None
        self._waited = 0.0

    @contextmanager
    def first(self) -> Iterator[None]:
        """Go first, as long as the context lasts."""
        with self._changed:
            self._asked += 1
        try:
            yield
        finally:
            with self._changed:
                self._asked -= 1
                self._answered = time.monotonic()
                self._changed.notify_all()

    def wait(self) -> None:
        """Return when nobody has asked for a while, or after this has waited long enough."""
        with self._changed:
            now = since = time.monotonic()
            self._began = since if self._began is None else self._began
            left = self._patience + _PATIENCE_SHARE * (since - self._began) - self._waited
            while (rest := min(self._due(), since + left) - now) > 0:
                self._changed.wait(rest)
                now = time.monotonic()
            self._waited += now - since

    def _due(self) -> float:
        """When the other work may go on, unless somebody asks before; never while somebody is asking."""
        return float("inf") if self._asked else self._answered + self._quiet
