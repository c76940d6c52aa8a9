"""Cases on all cores, in processes that may hang or die."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any

from bench.damage.case import DIED, HUNG, Case, Clean, Outcome, clean, outcome
from bench.damage.recordings import Recording

_LOOK_SECONDS = 0.2
_PROCESSES = Path("/proc")
#: A process that spends no processor time for so long waits for something that does not come.
_STANDS_SECONDS = 10.0
#: On a machine that is as busy as can be a case may last so many times its limit.
_FAR = 10.0


def processor_seconds(process: int) -> float:
    """Processor time that a process and its threads have spent; where systems do not tell, the clock's."""
    if not _PROCESSES.exists():
        return monotonic()
    fields = (_PROCESSES / f"{process}" / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch:
    """How long a process has been at something.

    The clock alone would call an analysis late whose machine is busy with something else.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._since = self._moved = monotonic()
        self._spent = self._seen = processor_seconds(process)

    def is_late(self, limit: float) -> bool:
        """Whether it took more processor time than `limit`, waits for something, or takes far too long."""
        now, spent = monotonic(), processor_seconds(self._process)
        if spent > self._seen:
            self._seen, self._moved = spent, now
        return spent - self._spent > limit or now - self._moved > _STANDS_SECONDS or now - self._since > _FAR * limit

    def seconds(self) -> float:
        """Since it began, by the clock."""
        return monotonic() - self._since


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
        self.watch = Watch(self.process.pid)

    def give(self, case: Case) -> None:
        """Have it work on a case."""
        self.case, self.watch = case, Watch(self.process.pid)
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
    cases: Iterable[Case],
    recordings: list[Recording],
    known: Mapping[int, Clean],
    deadline: float,
    processes: int,
) -> Iterator[Outcome]:
    """What comes of the cases until the time is over, worked on by so many processes.

    One that takes twice the processor time of the undamaged recording and 5 s more is late, and one that does nothing,
    or almost nothing, for long; one that is so twice has hung.
    """
    again: list[Case] = []
    given = iter(cases)
    late: set[Case] = set()
    workers = [_Worker(recordings, known) for _ in range(processes)]
    try:
        for worker in workers:
            _next(worker, given, again, deadline)
        while any(worker.case for worker in workers):
            ready = wait([worker.pipe for worker in workers if worker.case], timeout=_LOOK_SECONDS)
            for position, worker in enumerate(workers):
                if worker.case is None:
                    continue
                died = False
                if worker.pipe in ready:
                    try:
                        yield worker.pipe.recv()
                        _next(worker, given, again, deadline)
                        continue
                    except (EOFError, OSError):
                        died = True
                if died or worker.watch.is_late(2 * known[worker.case.recording].seconds + 5):
                    if died or worker.case in late:
                        yield Outcome(worker.case, DIED if died else HUNG, str(worker.case), worker.watch.seconds())
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
