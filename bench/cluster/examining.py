"""Findings of a job and what its tables are made of, with one look at each rank."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.shared.job_size import JobSize
from stepscope.cluster.job import JobParts
from stepscope.cluster.tables import parts_for
from stepscope.ingest.workers import Workers
from stepscope.model.trace import Trace
from stepscope.reports.ranks.question import RankResult
from stepscope.reports.ranks.tasks import Ranks, RankTask
from stepscope.rules.engine import Diagnosing
from stepscope.rules.finding import Finding
from stepscope.rules.settings import Settings

#: Tables that name ranks and links.
NAMING: Final = ("slow_ranks", "slow_links")


def examined(trace: Trace, workers: Workers) -> tuple[tuple[Finding, ...], JobParts]:
    """What the first page says of a job, and the job: as `build_report` does it, without the tables of each rank.

    Raises:
        StepscopeError: A rank can't be analysed.
    """
    with workers:
        ranks, job, used = Ranks(trace, workers, strict=True, failed=[]), JobParts(), list[int | None]()
        for rank, seen in ranks.surveyed(trace.ranks):
            job.add(rank, trace.recordings[rank], seen.calls, seen.groups)
            used += seen.used
        size, diagnosing = JobSize.of(job.recordings, used), Diagnosing(strict=True)
        for result in ranks.analysed(task(trace, job, size, rank) for rank in trace.ranks):
            took(diagnosing, job, result)
    return tuple(diagnosing.finish().shown), job


def task(trace: Trace, job: JobParts, size: JobSize, rank: int) -> RankTask:
    """What a worker is asked about a rank: all rules, and what the tables need."""
    matched = job.collectives.part(job.called[rank])
    asked = parts_for(NAMING)
    return RankTask(rank, trace.opening(rank), size, matched, (), True, None, Settings(), True, asked)


def took(diagnosing: Diagnosing, job: JobParts, result: RankResult) -> None:
    """Add what was found on a rank."""
    assert result.diagnosing is not None
    diagnosing.take(result.diagnosing)
    job.take(result.rank, result.parts)
