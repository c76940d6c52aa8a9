"""What ranks are read and analysed on: processes of this machine, or any executor, whose workers may die."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from stepscope.ingest.capacity import available_memory, cores
from stepscope.model.process.leaving import wait_if_leaving
from stepscope.model.process.starting import STARTING, start_work
from stepscope.model.sizes import SIZES

T = TypeVar("T")
R = TypeVar("R")

#: Tasks handed to each worker at a time: one that runs, and one that waits.
_AHEAD: Final = 2
#: How often a task that ended its worker is tried.
_ATTEMPTS: Final = 2


class WorkerDiedError(Exception):
    """A task ended its worker each time it ran, as one does that the system kills for its memory."""


@dataclass(slots=True)
class Workers:
    """An executor that is replaced when a worker of its own dies.

    Attributes:
        size: How many tasks run at a time, at least 1.
        make: Makes the executor.
        died: Errors by which the executor says that a task ended each worker that tried it.
        ahead: Tasks handed to the executor for each worker.
    """

    size: int
    make: Callable[[], Executor]
    died: tuple[type[Exception], ...] = ()
    ahead: int = _AHEAD
    _executor: Executor | None = None

    def submit(self, function: Callable[[T], R], item: T) -> Future[R]:
        """Run a task; on a new executor, if the last one is broken."""
        for _ in range(_ATTEMPTS):
            if self._executor is None:
                self._executor = self.make()
            try:
                return self._executor.submit(function, item)
            except BrokenExecutor:
                self.renew()
        raise WorkerDiedError

    def renew(self) -> None:
        """Let go of the executor, whose workers have died."""
        wait_if_leaving()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None

    def close(self) -> None:
        """End the workers; tasks that wait are not run."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


#: Makes workers for a number of tasks, each of which needs so many bytes of memory.
MakeWorkers = Callable[[int, int], Workers]


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T, R]):
    """What became of a task.

    Attributes:
        item: What it was about.
        value: What it returned; None if it failed.
        error: Why it failed; `WorkerDiedError` if it ended its worker each time it was tried.
    """

    item: T
    value: R | None = None
    error: Exception | None = None


def in_order(workers: Workers, function: Callable[[T], R], items: Iterable[T]) -> Iterator[Outcome[T, R]]:
    """Run a task for each item; yield the outcomes in the order of the items.

    No more than a few results per worker wait here at a time. When a worker dies, those tasks run again whose results
    are lost, one at a time, so that the one that ended it is known.

    Args:
        workers: What they run on.
        function: The task: a function of a module.
        items: What to call it with.
    """
    waiting = iter(items)
    flying: deque[tuple[T, Future[R]]] = deque()
    while True:
        while len(flying) < workers.ahead * workers.size:
            try:
                item = next(waiting)
            except StopIteration:
                break
            flying.append((item, workers.submit(function, item)))
        if not flying:
            return
        outcome = _outcome(*flying[0])
        if isinstance(outcome.error, BrokenExecutor):
            workers.renew()
            done = [_done(future) for _, future in flying]
            for (item, future), whole in zip(flying, done, strict=True):
                yield _outcome(item, future) if whole else _alone(workers, function, item)
            flying.clear()
        else:
            flying.popleft()
            dead = isinstance(outcome.error, workers.died)
            yield Outcome(outcome.item, error=WorkerDiedError()) if dead else outcome


def _done(future: Future[Any]) -> bool:
    """Whether a task has a result, or an error of its own."""
    return future.done() and not future.cancelled() and not isinstance(future.exception(), BrokenExecutor)


def _alone(workers: Workers, function: Callable[[T], R], item: T) -> Outcome[T, R]:
    for _ in range(_ATTEMPTS):
        outcome: Outcome[T, R] = _outcome(item, workers.submit(function, item))
        if not isinstance(outcome.error, BrokenExecutor):
            return outcome
        workers.renew()
    return Outcome(item, error=WorkerDiedError())


def _outcome(item: T, future: Future[R]) -> Outcome[T, R]:
    try:
        return Outcome(item, future.result())
    except Exception as error:
        return Outcome(item, error=error)


def processes(tasks: int, memory: int) -> Workers:
    """Processes of this machine: as many as have a core and memory each, and no more than there are tasks.

    Args:
        tasks: Number of tasks.
        memory: What one of them needs at most, in bytes.
    """
    size = SIZES.workers or min(cores(), max(available_memory() // max(memory, 1), 1))
    return Workers(max(min(size, tasks), 1), lambda: _pool(max(min(size, tasks), 1)))


def _pool(size: int) -> Executor:
    # Slow to import.
    from concurrent.futures import ProcessPoolExecutor

    from stepscope.ingest.spawning import ProgramFree

    first = (os.getpid(), tuple(STARTING))
    return ProcessPoolExecutor(size, mp_context=ProgramFree(), initializer=start_work, initargs=first)
