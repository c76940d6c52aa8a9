"""`python -m bench.cluster.reduction RANKS`: memory and time of the first process alone, as in docs/cluster.md.

Eight ranks are simulated, read and analysed once; what their workers send is then sent for as many ranks as asked, with
other numbers. All that the first process does with it is what it does of recorded ranks.
"""

from __future__ import annotations

import argparse
import pickle
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from bench.cluster.here import Here
from bench.cluster.planted import KINDS, planted
from stepscope.ingest import Options, open_trace
from stepscope.ingest.workers import Workers
from stepscope.model.place import Place
from stepscope.model.recording import Recording
from stepscope.model.trace import Note
from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.ranks.question import RankResult
from stepscope.reports.ranks.tasks import RankTask, Survey
from stepscope.simulate import simulate

_RECORDED = 8


class Sent(Executor):
    """Sends what workers sent of recorded ranks, for other ranks; results are copies, as those of other processes."""

    def __init__(self, kept: dict[tuple[str, int], bytes], ranks: int) -> None:
        self._kept, self._ranks = kept, ranks

    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        """A result that is there already."""
        task = args[0]
        rank = task.rank if isinstance(task, RankTask) else task[0]
        found = pickle.loads(self._kept[function.__name__, rank % _RECORDED])
        done: Future[Any] = Future()
        done.set_result(_surveyed(found, rank, self._ranks) if isinstance(found, Survey) else renamed(found, rank))
        return done


def _surveyed(found: Survey, rank: int, ranks: int) -> Survey:
    calls = {**found.calls, "rank": np.full_like(found.calls["rank"], rank)}
    groups = [replace(one, ranks=tuple(range(ranks)), size=ranks) for one in found.groups]
    return replace(found, calls=calls, groups=groups)


def renamed(found: RankResult, rank: int) -> RankResult:
    """What was found on one rank, as if it had been found on another; changes what it is given."""
    diagnosing = found.diagnosing
    assert diagnosing is not None
    for kept in (diagnosing._sealed, diagnosing._sealed_whole):
        for signals in list(kept.values()):
            kept.clear()
            signals.rank = rank
            kept[rank] = signals
    diagnosing._found = [replace(one, ranks=(rank,)) for one in diagnosing._found]
    devices = [replace(line, rank=rank) for line in found.devices]
    return replace(found, rank=rank, devices=devices)


class Keeping(Here):
    """Runs tasks here, and keeps what they send."""

    def __init__(self, kept: dict[tuple[str, int], bytes]) -> None:
        self._kept = kept

    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        """Run a task at once."""
        done, task = super().submit(function, *args), args[0]
        rank = task.rank if isinstance(task, RankTask) else task[0]
        self._kept[function.__name__, rank] = pickle.dumps(done.result())
        return done


@dataclass
class ManyRanks:
    """What the report asks of an open trace before it hands ranks to workers."""

    recordings: dict[int, Recording]
    notes: tuple[Note, ...] = ()
    places: tuple[Place, ...] = ()

    @property
    def ranks(self) -> tuple[int, ...]:
        """All ranks."""
        return tuple(self.recordings)

    def opening(self, rank: int) -> Callable[[], Any]:
        """Nothing to open."""
        return lambda: rank


def main() -> None:
    """Print one row."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.reduction", description=__doc__)
    parser.add_argument("ranks", type=int)
    options = parser.parse_args()
    kept: dict[tuple[str, int], bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        job = planted(KINDS[3], _RECORDED, Random(1).randrange(100)).job
        simulate(job, Path(folder) / "job")
        with open_trace(Path(folder) / "job", Options(store=Path(folder) / "store")) as trace:
            build_report(trace, ReportOptions(workers=lambda *_: Workers(1, lambda: Keeping(kept))))
            recording = trace.recordings[0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    recordings = {
        rank: replace(recording, rank=rank, world_size=options.ranks, source=f"rank{rank}.pt.trace.json")
        for rank in range(options.ranks)
    }
    started = time.process_time()
    report = build_report(
        ManyRanks(recordings),  # type: ignore[arg-type]
        ReportOptions(workers=lambda *_: Workers(1, lambda: Sent(kept, options.ranks))),
    )
    seconds, peak = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(report.ranks) == options.ranks
    print(f"| {options.ranks:,} | {before / 1000:.0f} MB | {peak / 1000:.0f} MB | {seconds:.1f} s |")


if __name__ == "__main__":
    main()
