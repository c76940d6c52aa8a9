"""Which thread of the program is its loop, and where the steps of that one start."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from stepscope.record.steps.finder import StepFinder

#: Threads in which events are counted; those of a server with a thread per request are many.
_MOST: Final = 64


class Loops:
    """The threads that ask for batches, update parameters or call models, each with steps of its own.

    The loop is the thread that updates. A loader may be read by another thread that runs ahead of it, so without
    updates it is the main thread, and without events there the first one that shows any.

    Attributes:
        thread: The loop's thread; 0 as long as there is none.
        expects_updates: There is an optimizer.
    """

    def __init__(self, *, expects_updates: bool = False) -> None:
        self.thread = 0
        self.expects_updates = expects_updates
        self._finders: dict[int, StepFinder] = {}
        self._nothing = StepFinder()
        self._updates = False
        self._held = False

    @property
    def finder(self) -> StepFinder:
        """Finds the steps of the loop."""
        return self._finders.get(self.thread, self._nothing)

    @property
    def is_main(self) -> bool:
        """Whether the loop is the main thread."""
        return self.thread == threading.main_thread().ident

    @property
    def is_settled(self) -> bool:
        """Whether no other thread can become the loop, since this one updates."""
        return self._updates

    def hold(self) -> None:
        """Keep to this loop, and to what its steps are found by: some are being recorded."""
        self._held = True
        self.finder.hold()

    def batch(self) -> bool:
        """A batch is about to be asked for; whether a step starts here."""
        thread = threading.get_ident()
        finder = self._of(thread)
        return finder is not None and finder.batch() and self._is_loop(thread)

    def update(self, optimizer: Hashable) -> bool:
        """An optimizer has updated its parameters; whether the next step starts here."""
        thread = threading.get_ident()
        # A thread of the backward pass, which Python does not know: the update belongs to the loop that waits for it,
        # and no step may start in it.
        ours = thread in threading._active  # type: ignore[attr-defined]
        if not ours:
            thread = self.thread or threading.main_thread().ident or 0
        finder = self._of(thread)
        if finder is None:
            return False
        starts = finder.update(optimizer)
        if not self._updates and not self._held:
            self.thread, self._updates = thread, True
        return starts and ours and thread == self.thread

    def call(self, model: Hashable) -> bool:
        """A model is called; whether a step starts here."""
        thread = threading.get_ident()
        finder = self._of(thread)
        return finder is not None and finder.call(model) and self._is_loop(thread)

    def _of(self, thread: int) -> StepFinder | None:
        finder = self._finders.get(thread)
        if finder is None and len(self._finders) < _MOST:
            finder = self._finders[thread] = StepFinder()
        if finder is not None:
            finder.expects_updates = self.expects_updates
        return finder

    def _is_loop(self, thread: int) -> bool:
        """Whether steps without updates are this thread's."""
        if thread != self.thread and not self._held and not self._updates:
            main = threading.main_thread().ident
            if not self.thread or thread == main:
                self.thread = thread
        return thread == self.thread
