"""Jobs of more ranks than can be read here: all are simulated, some are read, and these stand in for the others.

The collectives of all ranks are matched, from the simulator's own records, which must equal those read. Findings and
signals are of the ranks read: the culprits, those that come last most, and others drawn. Each rank that is not read
gets what was found on one that does the same, under its own number.
"""

from __future__ import annotations

import gc
import pickle
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

from bench.cluster.compact import compact
from bench.cluster.examining import task, took
from bench.cluster.here import here
from bench.cluster.planted import Planted
from bench.cluster.reduction import renamed
from stepscope.analyses.communication.matching import Calls
from stepscope.analyses.shared.job_size import JobSize
from stepscope.cluster.job import JobParts
from stepscope.cluster.messages import MessageTimes
from stepscope.cluster.slow_ranks import slow_ranks
from stepscope.ingest import Options, open_trace
from stepscope.reports.ranks.question import RankResult
from stepscope.reports.ranks.tasks import Ranks
from stepscope.rules.engine import Diagnosing
from stepscope.rules.finding import Finding
from stepscope.signals.communication.link_rates import Pair, groups, pairs
from stepscope.signals.communication.pipeline import stage
from stepscope.signals.communication.rank_times import rank_times
from stepscope.simulate.job import SimJob
from stepscope.simulate.lens import Lens
from stepscope.simulate.pipeline import RankGroup, levels_of, stage_of
from stepscope.simulate.records import Record
from stepscope.simulate.writers import WRITERS


def represented(planted: Planted, read: int) -> tuple[tuple[Finding, ...], JobParts]:
    """What the first page says of a job of which so many ranks are read, and the job.

    Raises:
        ValueError: What was read differs from what was simulated.
    """
    with tempfile.TemporaryDirectory() as folder:
        job, chosen, drawn = _written(planted, read, Path(folder) / "read")
        with (
            open_trace(Path(folder) / "read", Options(store=Path(folder) / "store", workers=here)) as trace,
            here() as workers,
        ):
            ranks, used = Ranks(trace, workers, strict=True, failed=[]), list[int | None]()
            for _, seen in ranks.surveyed(chosen):
                _check(seen.calls, job)
                used += seen.used
            size, diagnosing = JobSize.of(job.recordings, used * (len(job.recordings) // len(chosen))), Diagnosing()
            tasks = (task(trace, job, size, rank) for rank in chosen)
            sent = {result.rank: pickle.dumps(result) for result in ranks.analysed(tasks)}
            for rank in sorted(job.recordings):
                source = rank if rank in sent else _like(planted.job, drawn, rank)
                one = pickle.loads(sent[source])
                # Where its time goes is known from the simulation.
                one.diagnosing._sealed[source]._known[rank_times] = job.times[rank]
                took(diagnosing, job, one if source == rank else in_place_of(planted.job, one, source, rank))
    return tuple(diagnosing.finish().shown), job


def chosen_ranks(planted: Planted, job: JobParts, read: int) -> tuple[list[int], list[int]]:
    """Which ranks are read.

    Returns:
        Those that stand for themselves alone, the culprits and those that the others wait for most; and as many that
        are drawn, which stand for all others as well.
    """
    units = _units(planted.job)
    caused = {row["rank"]: row["caused_ns"] or 0 for row in slow_ranks(job).records()}
    guilty = set(planted.ranks) if planted.stage is None else set()
    units.sort(key=lambda unit: (not guilty & set(unit), -max(caused[rank] for rank in unit)))
    culprits = sum(bool(guilty & set(unit)) for unit in units)
    number = max(culprits + 1, read // len(units[0]))
    alone = max(culprits, number // 2)
    drawn = Random(planted.job.noise_seed).sample(units[alone:], number - alone)
    return _flat(units[:alone]), _flat(drawn)


def _flat(units: list[tuple[int, ...]]) -> list[int]:
    return sorted(rank for unit in units for rank in unit)


def _units(job: SimJob) -> list[tuple[int, ...]]:
    """Ranks that are read together: the stages of a pipeline, or a group that reduces gradients before all do."""
    if job.stages > 1:
        width = job.ranks // job.stages
        return [tuple(range(place, job.ranks, width)) for place in range(width)]
    inner = job.inner_ranks or 1
    return [tuple(range(first, first + inner)) for first in range(0, job.ranks, inner)]


def _like(job: SimJob, drawn: Sequence[int], rank: int) -> int:
    """A rank that was read and does the same as another one: the same stage of another pipeline."""
    width = job.ranks // job.stages
    alike = [one for one in drawn if one // width == rank // width]
    return alike[rank % len(alike)]


def in_place_of(job: SimJob, result: RankResult, source: int, rank: int) -> RankResult:
    """What was found on one rank, as if on another one: in that one's groups, and over that one's links."""
    result = renamed(result, rank)
    pairs_of = zip(_groups(job, source), _groups(job, rank), strict=True)
    own = {str(list(one.ranks)): other for one, other in pairs_of}
    assert result.diagnosing is not None
    signals = result.diagnosing._sealed[rank]
    if found := signals.maybe(groups):
        signals._known[groups] = tuple(
            replace(one, ranks=str(list(own[one.ranks].ranks)) if one.ranks in own else one.ranks) for one in found
        )
    if links := signals.maybe(pairs):
        signals._known[pairs] = tuple(_moved(job, one, rank - source) for one in links)
    if place := signals.maybe(stage):
        pipe = stage_of(job, rank).pipe
        signals._known[stage] = replace(place, group=pipe.name, ranks=pipe.ranks)
    parts = {name: part for name, part in result.parts.items() if name != "times"}
    parts["links"] = [_moved(job, one, rank - source) for one in result.parts.get("links", ())]
    if sent := parts.pop("messages", None):
        parts["messages"] = _resent(sent, stage_of(job, rank).pipe, rank - source)
    return replace(result, parts=parts)


def _groups(job: SimJob, rank: int) -> list[RankGroup]:
    """The groups in which a rank communicates."""
    return [stage_of(job, rank).replicas, stage_of(job, rank).pipe] if job.stages > 1 else levels_of(job, rank)


def _resent(sent: MessageTimes, pipe: RankGroup, by: int) -> MessageTimes:
    """Messages of one pipeline in another one, which is so many ranks further on."""
    return {key._replace(group=pipe.name, src=key.src + by, dst=key.dst + by): one for key, one in sent.items()}


def _moved(job: SimJob, pair: Pair, by: int) -> Pair:
    """The link between two other ranks so far on, which are on one host if these are."""
    src, size = pair.src + by, job.ranks_per_host
    if pair.src // size != pair.dst // size:
        return replace(pair, src=src, dst=(pair.dst + by) % job.ranks)
    return replace(pair, src=src, dst=src // size * size + (pair.dst + by) % size)


def _written(planted: Planted, read: int, folder: Path) -> tuple[JobParts, list[int], list[int]]:
    """Simulate the job, and write those ranks that are to be read; the records of all are in memory until then."""
    batches: dict[int, list[list[Record]]] = defaultdict(list)
    gc.disable()  # millions of records, none of them garbage: looking for some takes longer than simulating
    try:
        job = compact(planted.job, lambda rank, records: batches[rank].append(records), planted.format)
    finally:
        gc.enable()
    first, drawn = chosen_ranks(planted, job, read)
    chosen = sorted(first + drawn)
    format, lens = WRITERS[planted.format], Lens(planted.job)
    paths = format.targets(planted.job, folder).ranks
    for rank in chosen:
        writer = format.make(planted.job, rank, paths[rank])
        for records in batches[rank]:
            writer.write(lens.seen(records))
        writer.close()
    return job, chosen, drawn


def _check(calls: Calls, job: JobParts) -> None:
    """Whether matched collectives are those that were read: none is shorter, and none is missing.

    Raises:
        ValueError: They differ.
    """
    shortest, _ = job.collectives.of(calls)
    if np.any(shortest > calls["dur"]) or np.any(shortest <= 0):
        raise ValueError("what was read differs from what was simulated")
