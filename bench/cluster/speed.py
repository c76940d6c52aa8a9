"""`python -m bench.cluster.speed RANKS`: ranks per second with one process, two, and Dask's, as in docs/cluster.md.

The ranks are simulated once. Reading is from nothing each time; then the page's report is made of what was read. Times
are of the clock on the wall, so that other work on the machine counts; beside is the processor time of all processes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from bench.cluster.planted import KINDS, planted
from stepscope.ingest import Options, open_trace
from stepscope.ingest.dask_workers import LOCAL, dask_workers
from stepscope.ingest.workers import MakeWorkers, Workers, processes
from stepscope.model.sizes import SIZES
from stepscope.reports.build import ReportOptions, build_report
from stepscope.simulate import simulate


@contextmanager
def _processes(number: int) -> Iterator[MakeWorkers]:
    """So many processes of this machine."""

    def make(tasks: int, memory: int) -> Workers:
        before, SIZES.workers = SIZES.workers, number
        try:
            return processes(tasks, memory)
        finally:
            SIZES.workers = before

    yield make


WAYS: dict[str, Callable[[], AbstractContextManager[MakeWorkers]]] = {
    "one process": partial(_processes, 1),
    "two processes": partial(_processes, 2),
    "Dask (`--dask local`)": partial(dask_workers, LOCAL),
}


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.speed", description=__doc__)
    parser.add_argument("ranks", type=int)
    ranks = parser.parse_args().ranks
    with tempfile.TemporaryDirectory() as folder:
        simulate(planted(KINDS[0], ranks, 0).job, Path(folder) / "job")
        print(f"| {ranks} ranks | read per s | analysed per s | processor time of each | load |\n|---|---|---|---|---|")
        for number, way in enumerate(WAYS):
            before = sum(os.times()[:4])
            read, reported = _seconds(Path(folder) / "job", Path(folder) / f"store{number}", way)
            each, load = (sum(os.times()[:4]) - before) / ranks, os.getloadavg()[0]
            print(f"| {way} | {ranks / read:.2f} | {ranks / reported:.2f} | {each:.2f} s | {load:.0f} |", flush=True)


def _seconds(job: Path, store: Path, way: str) -> tuple[float, float]:
    """Seconds for reading and for the report, on workers that have just started."""
    with WAYS[way]() as make:
        started = time.perf_counter()
        with open_trace(job, Options(store=store, workers=make)) as trace:
            opened = time.perf_counter()
            build_report(trace, ReportOptions(workers=make, page=True))
            return opened - started, time.perf_counter() - opened


if __name__ == "__main__":
    main()
