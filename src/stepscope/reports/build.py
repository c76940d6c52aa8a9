"""Build a report from an open trace: run every analysis on every rank, and note those that lack their input."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from stepscope.analyses.communication.called import calls_of
from stepscope.analyses.communication.given_groups import given_groups
from stepscope.analyses.registry import Analysis, analyses
from stepscope.analyses.shared.job_size import JobSize
from stepscope.cluster.critical.chosen import ask_step, asked_step, step_lengths
from stepscope.cluster.job import JobParts
from stepscope.cluster.part import groups_of, numbered_steps
from stepscope.cluster.tables import JOB_TABLES, parts_for
from stepscope.ingest.workers import MakeWorkers, processes
from stepscope.language import said
from stepscope.model.errors import UnusableInputError, UserError
from stepscope.model.process.footprint import give_back_rank
from stepscope.model.program import Program
from stepscope.model.sizes import SIZES
from stepscope.model.suggest import choose
from stepscope.model.trace import Trace
from stepscope.reports.contents import RankLine
from stepscope.reports.health import Abstention, HealthLine, abstention_lines, by_severity, trace_lines, trigger_lines
from stepscope.reports.ranks.job_lines import job_lines
from stepscope.reports.ranks.lone_lines import lone_lines
from stepscope.reports.ranks.question import Look, Question, RankResult
from stepscope.reports.ranks.table_parts import TableParts
from stepscope.reports.ranks.tasks import Ranks, RankTask, memory_of
from stepscope.reports.report import Report
from stepscope.reports.sections.views import SHOWN, SHOWN_OF_JOB
from stepscope.reports.selection import (
    Progress,
    ReportOptions,
    Selection,
    chosen_ranks,
    chosen_steps,
    steps_of_rank,
)
from stepscope.rules.engine import Diagnosing

__all__ = ["ReportOptions", "build_report"]


def build_report(trace: Trace, options: ReportOptions | None = None) -> Report:
    """Run the analyses over every rank of a trace.

    Raises:
        UserError: The options name a rank, step or table that does not exist.
    """
    options = options or ReportOptions()
    wanted = _wanted(options.tables, options.page)
    ranks = chosen_ranks(trace, options.ranks)
    diagnosing = None if options.rules is None or options.tables else Diagnosing(options.rules, options.strict)
    failed: list[HealthLine] = []
    make = options.workers or (processes if len(ranks) >= SIZES.parallel_ranks else None)
    abstentions: list[Abstention] = []
    programs: dict[int, Program] = {}
    health: list[dict[str, Any]] = []
    lines: dict[int, list[RankLine]] = {}
    job = JobParts(given=options.groups)
    with TableParts(wanted) as parts:
        found = (
            _ranks_here(trace, ranks, wanted, options, diagnosing, job)
            if make is None
            else _ranks_by_workers(trace, ranks, wanted, options, make, failed, job)
        )
        for result in found:
            parts.add(result.tables)
            abstentions += result.abstentions
            health += result.health
            lines[result.rank] = result.devices
            job.take(result.rank, result.parts)
            if result.program is not None:
                programs[result.rank] = result.program
            if diagnosing is not None and result.diagnosing is not None:
                diagnosing.take(result.diagnosing)
        tables = parts.tables()
    tables |= {name: JOB_TABLES[name].run(job) for name in _job_tables(options, trace)}
    if not lines:
        raise UnusableInputError(failed[0].message, hint=failed[0].effect)
    merged = Abstention.merged(abstentions, len(lines))
    lines_of_health = by_severity(
        [*failed, *job_lines(job), *lone_lines(trace), *trace_lines(trace.notes, health, programs)]
    )
    return Report(
        sources={rank: trace.recordings[rank] for rank in lines},
        health=(*trigger_lines(trace.recordings), *lines_of_health, *abstention_lines(merged)),
        ranks=tuple(line for rank in lines.values() for line in rank),
        tables=tables,
        abstentions=merged,
        diagnosis=diagnosing.finish() if diagnosing is not None else None,
        all_findings=options.all_findings,
        selection=Selection(options.steps, options.ranks, options.tables),
        programs=programs,
        places=trace.places,
    )


def _ranks_here(
    trace: Trace,
    ranks: tuple[int, ...],
    wanted: list[Analysis],
    options: ReportOptions,
    diagnosing: Diagnosing | None,
    job: JobParts,
) -> Iterator[RankResult]:
    """Analyse the ranks one after the other, each by several threads."""
    steps = steps_of_rank(trace, ranks, options.steps)
    each = len(wanted) + (diagnosing.looks if diagnosing is not None else 0)
    needed = parts_for(_job_tables(options, trace))
    # All recordings that are at hand are matched, also those that are not asked for.
    told = _job_tables(options, trace) or not options.tables
    for rank in trace.ranks if len(trace.ranks) > 1 and told else ():
        one = trace.rank(rank)
        job.add(rank, trace.recordings[rank], one.once(calls_of), groups_of(one), numbered_steps(one))
        job.lengths[rank] = step_lengths(one)
    job.collectives.settle()
    for position, rank in enumerate(ranks):
        noted = _Noted(options.progress, rank, count(position * each), len(ranks) * each)
        options.between()
        one = trace.rank(rank)
        one.state(given_groups, options.groups)
        one.state(asked_step, ask_step(job.lengths, ranks, options.steps))
        question = Question.of(one, steps[rank] if options.steps else None, options.strict, parts=needed)
        question = replace(question, between=options.between)
        look = noted.looking(diagnosing) if diagnosing is not None else None
        yield question.result(wanted, look, bool(options.tables), noted.answered)
        if len(ranks) > 1:
            del one, question
            give_back_rank()


@dataclass(frozen=True, slots=True)
class _Noted:
    """Notes how far one rank is: rules and questions may be at work at a time, each in a thread of its own.

    Attributes:
        progress: Told of it.
        rank: The rank.
        done: How many rules and questions came before, counted on.
        total: How many there are in all.
    """

    progress: Progress
    rank: int
    done: Iterator[int]
    total: int
    guard: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, name: str) -> None:
        """A question has been answered."""
        self._note(said("rank {rank}: {name}", rank=self.rank, name=name))

    def looking(self, diagnosing: Diagnosing) -> Look:
        """Looks for findings."""

        def look(trace: Trace, between: Callable[[], None]) -> None:
            def before_rule() -> None:
                self._note(said("rank {rank}: findings", rank=self.rank))
                between()

            diagnosing.look_at(trace, before_rule)

        return look

    def _note(self, what: str) -> None:
        with self.guard:
            self.progress(what, next(self.done), self.total)


def _ranks_by_workers(
    trace: Trace,
    ranks: tuple[int, ...],
    wanted: list[Analysis],
    options: ReportOptions,
    make: MakeWorkers,
    failed: list[HealthLine],
    job: JobParts,
) -> Iterator[RankResult]:
    """Analyse the ranks as tasks: look at each for the others, then ask each with what these need to be known."""
    with make(len(ranks), memory_of(trace.recordings)) as workers:
        tasks = Ranks(trace, workers, options.strict, failed)
        used, steps = list[int | None](), dict[int, set[int]]()
        # All recordings that are at hand take part in matching, also those that are not asked for.
        for number, (rank, seen) in enumerate(tasks.surveyed(trace.ranks)):
            options.progress(said("rank {rank}: collectives", rank=rank), number, len(trace.ranks) + len(ranks))
            job.add(rank, trace.recordings[rank], seen.calls, seen.groups, seen.numbered)
            job.lengths[rank] = seen.lengths
            used += seen.used
            steps[rank] = seen.steps
        job.collectives.settle()
        size = JobSize.of(job.recordings, used)
        left = [rank for rank in ranks if rank in job.recordings]
        needed = parts_for(_job_tables(options, trace))
        chosen = chosen_steps({rank: steps[rank] for rank in left}, options.steps)
        asked_step = ask_step(job.lengths, left, options.steps)
        asked = (
            RankTask(
                rank, trace.opening(rank), size, job.collectives.part(job.called[rank]),
                tuple(analysis.name for analysis in wanted), bool(options.tables),
                chosen[rank] if options.steps else None, None if options.tables else options.rules, options.strict,
                needed, asked_step, options.groups,
            )
            for rank in left
        )  # fmt: skip
        for number, result in enumerate(tasks.analysed(asked)):
            options.progress(
                said("rank {rank}", rank=result.rank), len(trace.ranks) + number, len(trace.ranks) + len(ranks)
            )
            yield result


def _wanted(names: tuple[str, ...], page: bool) -> list[Analysis]:
    known = analyses()
    for name in names:
        if name not in known and name not in JOB_TABLES:
            raise UserError(said("no table is called {name!r}", name=name), hint=choose(name, [*known, *JOB_TABLES]))
    shown = names or (SHOWN if page else known)
    return [analysis for name, analysis in known.items() if name in shown]


def _job_tables(options: ReportOptions, trace: Trace) -> list[str]:
    """The wanted tables about all ranks together; none where there is one rank."""
    if len(trace.ranks) < 2 and not options.tables:
        return []
    shown = options.tables or (SHOWN_OF_JOB if options.page else JOB_TABLES)
    return [name for name in JOB_TABLES if name in shown]
