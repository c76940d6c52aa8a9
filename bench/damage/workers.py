"""Cases on all cores, in processes that may hang or die."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

from bench.damage.case import DIED, HUNG, Case, Clean, Outcome, clean, outcome
from bench.damage.recordings import Recording

_LOOK_SECONDS = 0.2


class _Worker:
    """A process that is given one case at a time."""

    def __init__(self, recordings: list[Recording], known: Mapping[int, Clean]) -> None:
        context: Any = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, recordings, dict(known)), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()  # it is warm
        self.case: Case | None = None
        self.since = 0.0

    def give(self, case: Case) -> None:
        """Have it work on a case."""
        self.case, self.since = case, monotonic()
        self.pipe.send(case)

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: Connection, recordings: list[Recording], known: Mapping[int, Clean]) -> None:
    # The first analysis of a process imports what all others find.
    clean(recordings[0])
    pipe.send(None)
    while True:
        pipe.send(outcome(pipe.recv(), recordings, known))


def outcomes(
    cases: Iterable[Case], recordings: list[Recording], known: Mapping[int, Clean], deadline: float
) -> Iterator[Outcome]:
    """What comes of the cases until the time is over.

    One that takes twice the clean time and 5 s more is late; one that is so twice has hung: a machine may be busy.
    """
    again: list[Case] = []
    given = iter(cases)
    late: set[Case] = set()
    workers = [_Worker(recordings, known) for _ in range(os.cpu_count() or 1)]
    try:
        for worker in workers:
            _next(worker, given, again, deadline)
        while any(worker.case for worker in workers):
            ready = wait([worker.pipe for worker in workers if worker.case], timeout=_LOOK_SECONDS)
            for position, worker in enumerate(workers):
                if worker.case is None:
                    continue
                limit = 2 * known[worker.case.recording].seconds + 5
                died = False
                if worker.pipe in ready:
                    try:
                        yield worker.pipe.recv()
                        _next(worker, given, again, deadline)
                        continue
                    except (EOFError, OSError):
                        died = True
                if died or monotonic() - worker.since > limit:
                    if died or worker.case in late:
                        yield Outcome(worker.case, DIED if died else HUNG, str(worker.case), monotonic() - worker.since)
                    else:
                        late.add(worker.case)
                        again.append(worker.case)
                    worker.end()
                    workers[position] = _Worker(recordings, known)
                    _next(workers[position], given, again, deadline)
        for case in again:
            yield Outcome(case, HUNG, f"{case}, and there was no time to run it again")
    finally:
        for worker in workers:
            worker.end()


def _next(worker: _Worker, given: Iterator[Case], again: list[Case], deadline: float) -> None:
    worker.case = None
    if monotonic() < deadline and (case := again.pop() if again else next(given, None)) is not None:
        worker.give(case)
