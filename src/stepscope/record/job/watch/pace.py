"""Steps that go on as usual: where each ends and how long its loop waited is kept, and nothing else is done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepscope.record.steps.finder import StepFinder

#: Functions are looked up as defaults of arguments: each other place to look is 0.2 µs more where nothing is in caches.
_Int = Callable[[], int]


class StepPace:
    """Takes what hooks see, and hands on what is not as usual.

    After a step of some milliseconds nothing of ours is in the processor's caches any more, and what takes 10 µs again
    and again takes 70 µs once a step. So a usual step touches as little as can be: this object, which lies in two
    lines of the cache, and two lists. It is looked at as a whole a few times a second, or where a step is long.

    Args:
        asked: What to do where a batch is asked for and that is not as usual.
        updated: The same of an update, with the optimizer's identity.
        called: The same of a call of a model, with its identity.

    Attributes:
        until: Monotonic time in ns from which on the next step is not passed over.
        ends: Ends of the steps passed over, in the same time.
        waits: How long the loop waited for batches in each, in ns; empty where no batch starts a step.
        order: Optimizers or models in the order in which they were seen, if there are several.
        awaits: Whether the next batch starts a step.
        finder: What finds the steps; None while none is passed over.
        start: Where the first of them started.
    """

    __slots__ = (
        "_asked", "_asked_at", "_asker", "_batches", "_called", "_calls", "_closer", "_known", "_last", "_limit",
        "_loop", "_only", "_several", "_updated", "_updates", "_wait", "awaits", "ends", "finder", "order", "start",
        "until", "waits",
    )  # fmt: skip

    def __init__(
        self, asked: Callable[[], None], updated: Callable[[Any], None], called: Callable[[Any], None]
    ) -> None:
        self._asked, self._updated, self._called = asked, updated, called
        self._asked_at = self._asker = self._wait = 0
        self.ends: list[int] = []
        self.waits: list[int] = []
        self.order: list[Hashable] = []
        self.finder: StepFinder | None
        self.start = self._last = self._limit = 0
        self.awaits = False
        self.close()

    @property
    def is_here(self) -> bool:
        """Whether steps of the calling thread are being passed over."""
        return self._loop != 0 and self._loop == get_ident()

    def close(self) -> None:
        """Pass over nothing."""
        # Threads in which batches, updates and calls are as usual; 0 for none.
        self._loop = self._batches = self._updates = self._calls = self._only = self.until = 0
        self.finder = None
        self._closer: Hashable = None
        self._known: Collection[Hashable] = ()

    def open(self, finder: StepFinder, start: int, limit: int, until: int, *, only: bool) -> None:
        """Pass over the steps of the calling thread that follow; one starts here.

        Args:
            finder: What finds them.
            start: When this one starts.
            limit: Length in ns from which on a step is not passed over.
            until: Time from which on none is.
            only: Whether no other thread can become the loop.
        """
        loop = get_ident()
        self.finder, self.start, self._last, self._limit, self.until = finder, start, start, limit, until
        self.ends, self.waits, self.order = [], [], []
        self._closer, known = finder.closed_by
        self._several, self._asker = len(known) > 1, loop
        source = finder.source
        self.awaits = source == "loader"
        self._loop, self._only = loop, loop if only else 0
        self._batches = loop if source == "loader" or (source == "optimizer" and finder.asks_loader) else 0
        self._updates = loop if source == "optimizer" else 0
        self._calls = loop if source == "model" else 0
        self._known = known

    def asked(self, _: object = None, time: _Int = perf_counter_ns, ident: _Int = get_ident) -> None:
        """A batch is about to be asked for."""
        now, thread = time(), ident()
        if thread == self._batches:
            if not self.awaits:
                self._asked_at = now
                return
            if now - self._last <= self._limit and now < self.until:
                self.ends.append(now)
                self.waits.append(self._wait)
                self._last = self._asked_at = now
                self._wait = 0
                self.awaits = not self._updates
                return
        elif self._only and thread != self._only:
            # A thread that prepares batches for the loop.
            return
        self._asked()

    def got(self, time: _Int = perf_counter_ns, ident: _Int = get_ident) -> None:
        """A batch is there."""
        if self._asked_at and ident() == self._asker:
            self._wait += time() - self._asked_at
            self._asked_at = 0

    def updated(self, optimizer: Hashable, time: _Int = perf_counter_ns) -> None:
        """An optimizer has updated its parameters; the one that closes steps does so in one thread."""
        if optimizer == self._closer:
            if self._batches:
                if not self.awaits:
                    self.awaits = True
                    if self._several:
                        self.order.append(optimizer)
                    return
            else:
                now = time()
                if now - self._last <= self._limit and now < self.until:
                    self.ends.append(now)
                    self._last = now
                    if self._several:
                        self.order.append(optimizer)
                    return
        elif optimizer in self._known and self._updates == get_ident() and time() < self.until:
            self.order.append(optimizer)
            return
        self._updated(optimizer)

    def called(self, model: Hashable) -> None:
        """A model is called."""
        if get_ident() == self._calls:
            if model == self._closer:
                now = perf_counter_ns()
                if now - self._last <= self._limit and now < self.until:
                    self.ends.append(now)
                    self._last = now
                    if self._several:
                        self.order.append(model)
                    return
            elif model in self._known and perf_counter_ns() < self.until:
                self.order.append(model)
                return
        self._called(model)

    def waits_from_here(self, loop: int) -> None:
        """A batch is asked for by the calling thread, which waits if it is the loop's."""
        thread = get_ident()
        if thread == loop:
            self._asker, self._asked_at = thread, perf_counter_ns()

    def waited(self) -> int:
        """How long the loop waited in the step that is over, in ns; the next one has not waited yet."""
        wait, self._wait = self._wait, 0
        return wait
