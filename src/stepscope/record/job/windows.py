"""Which steps are recorded next: those asked for, every so often, after a slow step, or when somebody asks."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Final

from stepscope.record.triggers.slow import SlowStepFinder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stepscope.record.settings import RecordSettings

#: Recordings of one process; what a trigger or a short interval asks for beyond would fill the disk.
MOST: Final = 20
#: Nanoseconds between two looks at files that ask for a recording.
_BETWEEN_LOOKS_NS: Final = 20_000_000
#: A step that no program comes to.
NEVER: Final = 1 << 62


class Windows:
    """The steps to record.

    Attributes:
        first: First step of the next or present recording; far away if none is asked for.
        stop: First step after it.
        postponed: Whether that is later than was asked for.
    """

    def __init__(self, settings: RecordSettings) -> None:
        self._settings = settings
        self.first, self.stop = (settings.first, settings.stop) if settings.scheduled else (NEVER, NEVER)
        self.postponed = False
        self._left = MOST
        self._asked = False
        self._slow = SlowStepFinder(settings.slow)
        self._looked = 0
        self._seen = [changed(path) for path in settings.requests]

    @property
    def settings(self) -> RecordSettings:
        """What the next or present recording is to hold, and where it goes."""
        return self._settings

    def reason(self) -> dict[str, Any]:
        """What the recording is to say of why it was made, as JSON values."""
        return {}

    def pass_by(self) -> bool:
        """This rank does not take part in what is recorded next; whether it may in what comes later."""
        return False

    def leave(self) -> None:
        """The process ends."""

    def written(self) -> None:
        """A recording lies on disk."""

    def ask(self) -> None:
        """Record the next steps."""
        self._asked = True

    def passes_over(self, number: int) -> int:
        """How long steps may be in ns that need no look at whether there is a reason; 0 if each is looked at.

        Args:
            number: The step that starts.
        """
        del number
        return 0

    def passed_over(self, lengths: Sequence[int]) -> None:
        """Such steps are over.

        Args:
            lengths: How long they took, in ns.
        """
        self._slow.passed_over(lengths)

    def look(self, number: int, length_ns: int, now: int = 0) -> None:
        """See whether somebody asks for a recording, or the step that is over was slow.

        Args:
            number: The step that starts.
            length_ns: How long the last one took; 0 if that is not known.
            now: Monotonic time in ns.
        """
        del now
        if number >= self.first - self._settings.warmup:
            return
        if (self._slow.is_slow(length_ns) or self._is_asked()) and self._left > 0:
            self._asked = False
            self.first = number + max(1, self._settings.warmup)
            self.stop = self.first + self._settings.stop - self._settings.first

    def postpone(self, number: int) -> None:
        """What was asked for can't be recorded from here; as many steps later on are.

        Args:
            number: The step that starts.
        """
        length = self.stop - self.first
        self.first = number + 1 + max(1, self._settings.warmup)
        self.stop = self.first + length
        self.postponed = True

    def over(self) -> bool:
        """A recording is over; whether there may be another one."""
        settings = self._settings
        self._left -= 1
        self.postponed = False
        length = settings.stop - settings.first
        self.first = self.first + settings.every if settings.every and settings.scheduled else NEVER
        self.stop = self.first + length
        return self._left > 0 and bool(settings.every or settings.requests or settings.slow)

    def _is_asked(self) -> bool:
        if self._settings.requests and time.perf_counter_ns() - self._looked >= _BETWEEN_LOOKS_NS:
            self._looked = time.perf_counter_ns()
            now = [changed(path) for path in self._settings.requests]
            self._asked |= any(new > old for new, old in zip(now, self._seen, strict=True))
            self._seen = now
        return self._asked


def changed(path: str | Path) -> int:
    """When a file was last touched, in ns; 0 if there is none."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - a Path would cost more than the call
    except OSError:
        return 0
