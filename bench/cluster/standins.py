"""Jobs of more ranks than can be read here: all are simulated, some are read, and these stand in for the others.

The collectives of all ranks are matched, from the simulator's own records, which must equal those read. Findings and
signals are of the ranks read: the culprits, those that come last most, and others drawn. Each rank that is not read
gets what was found on one that does the same, under its own number.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np

from bench.cluster.compact import compact
from bench.cluster.examining import task, took
from bench.cluster.planted import Planted
from bench.cluster.reduction import renamed
from stepscope.analyses.communication.matching import Calls
from stepscope.analyses.shared.job_size import JobSize
from stepscope.cluster.job import JobParts
from stepscope.cluster.slow_ranks import slow_ranks
from stepscope.ingest import Options, open_trace
from stepscope.ingest.workers import processes
from stepscope.reports.ranks.question import RankResult
from stepscope.reports.ranks.tasks import Ranks, memory_of
from stepscope.rules.engine import Diagnosing
from stepscope.rules.finding import Finding
from stepscope.simulate.job import SimJob
from stepscope.simulate.lens import Lens
from stepscope.simulate.writers import WRITERS


def represented(planted: Planted, read: int) -> tuple[tuple[Finding, ...], JobParts]:
    """What the first page says of a job of which so many ranks are read, and the job.

    Raises:
        ValueError: What was read differs from what was simulated.
    """
    with tempfile.TemporaryDirectory() as folder:
        job, paths = _written(planted, Path(folder) / "job")
        chosen = chosen_ranks(planted, job, read)
        (Path(folder) / "read").mkdir()
        for rank in chosen:
            paths[rank].rename(Path(folder) / "read" / paths[rank].name)
        with open_trace(Path(folder) / "read", Options(store=Path(folder) / "store")) as trace:
            with processes(len(chosen), memory_of(trace.recordings)) as workers:
                ranks, used = Ranks(trace, workers, strict=True, failed=[]), list[int | None]()
                for _, seen in ranks.surveyed(chosen):
                    _check(seen.calls, job)
                    used += seen.used
                size, diagnosing = JobSize.of(job.recordings, used * (len(job.recordings) // len(chosen))), Diagnosing()
                found: dict[int, RankResult] = {}
                for result in ranks.analysed(task(trace, job, size, rank) for rank in chosen):
                    found[result.rank] = result
            sent = {rank: pickle.dumps(result) for rank, result in found.items()}
            for rank in sorted(job.recordings):
                source = rank if rank in sent else _like(planted, chosen, rank)
                took(diagnosing, job, renamed(pickle.loads(sent[source]), rank) if source != rank else found[rank])
    return tuple(diagnosing.finish().shown), job


def chosen_ranks(planted: Planted, job: JobParts, read: int) -> list[int]:
    """Which ranks are read: culprits, half of the rest by how long the others wait for them, the other half drawn."""
    units = _units(planted.job)
    caused = {row["rank"]: row["caused_ns"] for row in slow_ranks(job).records()}
    guilty = set(planted.ranks) if planted.stage is None else set()
    units.sort(key=lambda unit: (not guilty & set(unit), -max(caused[rank] for rank in unit)))
    number = max(1, read // len(units[0]))
    drawn = Random(planted.job.noise_seed).sample(units[number // 2 :], number - number // 2)
    return sorted(rank for unit in (*units[: number // 2], *drawn) for rank in unit)


def _units(job: SimJob) -> list[tuple[int, ...]]:
    """Ranks that are read together: the stages of a pipeline, or a group that reduces gradients before all do."""
    if job.stages > 1:
        width = job.ranks // job.stages
        return [tuple(range(place, job.ranks, width)) for place in range(width)]
    inner = job.inner_ranks or 1
    return [tuple(range(first, first + inner)) for first in range(0, job.ranks, inner)]


def _like(planted: Planted, chosen: Sequence[int], rank: int) -> int:
    """A rank that was read, is no culprit, and does the same as another one: the same stage of another pipeline."""
    width = planted.job.ranks // planted.job.stages
    guilty = () if planted.stage is not None else planted.ranks
    alike = [one for one in chosen if one // width == rank // width and one not in guilty]
    return alike[rank % len(alike)]


def _written(planted: Planted, folder: Path) -> tuple[JobParts, list[Path]]:
    """Simulate the job and write all its ranks."""
    chosen, lens = WRITERS[planted.format], Lens(planted.job)
    paths = chosen.targets(planted.job, folder).ranks
    writers = [chosen.make(planted.job, rank, path) for rank, path in enumerate(paths)]
    job = compact(planted.job, lambda rank, records: writers[rank].write(lens.seen(records)))
    for writer in writers:
        writer.close()
    return job, paths


def _check(calls: Calls, job: JobParts) -> None:
    """Whether matched collectives are those that were read: none is shorter, and none is missing.

    Raises:
        ValueError: They differ.
    """
    shortest, _ = job.collectives.of(calls)
    if np.any(shortest > calls["dur"]) or np.any(shortest <= 0):
        raise ValueError("what was read differs from what was simulated")
