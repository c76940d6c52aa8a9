"""The program's own profilers: torch lets one record at a time, and theirs goes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from stepscope.record.job.unseen import stand_in
from stepscope.record.noted import noted


def goes_first(number: int) -> str:
    """That one of them keeps a step from being recorded."""
    return noted("the program's own profiler was at work in step {number}, and goes first", number=number)


class OtherProfilers:
    """Sees what `torch.profiler` and `torch.autograd.profiler` do for the program.

    Args:
        yield_to: What to do before one of them sets itself up, in the thread that has it do so.
    """

    def __init__(self, yield_to: Callable[[], None]) -> None:
        self._yield_to = yield_to
        self._at_work: WeakSet[Any] = WeakSet()
        self._ours: set[int] = set()

    @property
    def at_work(self) -> bool:
        """Whether one of them is set up or records."""
        return bool(self._at_work)

    def begin_anew(self) -> None:
        """In a forked process: none of them goes on there."""
        self._at_work = WeakSet()
        self._ours = set()

    @contextmanager
    def ours(self) -> Iterator[None]:
        """What this thread does within is done for stepscope."""
        thread = threading.get_ident()
        inner = thread in self._ours
        self._ours.add(thread)
        try:
            yield
        finally:
            if not inner:
                self._ours.discard(thread)

    def see(self, profiles: Any) -> None:
        """Start to.

        Args:
            profiles: `torch.autograd.profiler.profile`, through which both work.
        """
        for name in ("_prepare_trace", "_start_trace"):
            if original := getattr(profiles, name, None):
                setattr(profiles, name, self._before(original))
        leave = profiles.__exit__

        def wrapper(profile: Any, *args: Any) -> Any:
            try:
                return leave(profile, *args)
            finally:
                self._at_work.discard(profile)

        profiles.__exit__ = stand_in(leave, wrapper)

    def _before(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(profile: Any) -> Any:
            if threading.get_ident() not in self._ours and profile not in self._at_work:
                self._yield_to()
                self._at_work.add(profile)
            return original(profile)

        return stand_in(original, wrapper)
