"""Ranks analysed as tasks: each worker opens one rank, and sends back its small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from stepscope.analyses.communication.called import calls_of
from stepscope.analyses.communication.collective_transfers import matching
from stepscope.analyses.communication.given_groups import GivenGroup, given_groups
from stepscope.analyses.communication.matching import Calls, Matching
from stepscope.analyses.registry import analyses
from stepscope.analyses.shared.job_size import JobSize, job_size, used_devices
from stepscope.cluster.critical.chosen import AskedStep, StepLengths, asked_step, step_lengths
from stepscope.cluster.part import GroupPart, groups_of, numbered_steps
from stepscope.ingest.workers import WorkerDiedError, Workers, in_order
from stepscope.language import said
from stepscope.model.errors import StepscopeError
from stepscope.model.process.footprint import give_back_rank
from stepscope.model.recording import Recording
from stepscope.model.trace import Trace
from stepscope.reports.health import HealthLine
from stepscope.reports.ranks.question import Question, RankResult
from stepscope.rules.engine import Diagnosing
from stepscope.rules.settings import Settings

#: What a process needs to analyse the smallest rank, what each of its events takes, and what any rank needs at most.
_LEAST_MEMORY: Final = 250 << 20
_EVENT_BYTES: Final = 150
_MOST_MEMORY: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Survey:
    """What the other ranks need to know of a rank.

    Attributes:
        calls: Its calls of collectives.
        used: Numbers of its devices in use.
        steps: Its steps.
        groups: Its process groups.
        lengths: Length of each of its steps.
        numbered: Its steps that have a recorded number.
    """

    calls: Calls
    used: list[int | None]
    steps: set[int]
    groups: list[GroupPart]
    lengths: StepLengths
    numbered: frozenset[int]


@dataclass(frozen=True, slots=True)
class RankTask:
    """What a worker is to do.

    Attributes:
        rank: The rank.
        open: Opens its trace.
        job: The size of the whole job.
        collectives: The collectives that the rank takes part in.
        wanted: Names of the tables to compute.
        named: Whether these were asked for by name.
        steps: The steps to look at; None for all.
        rules: Which rules look for findings; None for none.
        strict: Let unexpected errors through.
        parts: What tables about all ranks need of it, by name.
        path_step: What is asked about the critical path; None for nothing.
        given: Groups that the user states.
    """

    rank: int
    open: Callable[[], Trace]
    job: JobSize
    collectives: Matching
    wanted: tuple[str, ...]
    named: bool
    steps: tuple[int, ...] | None
    rules: Settings | None
    strict: bool
    parts: tuple[str, ...] = ()
    path_step: AskedStep | None = None
    given: tuple[GivenGroup, ...] = ()


def survey(task: tuple[int, Callable[[], Trace]]) -> Survey:
    """Look at a rank for the others."""
    with task[1]() as trace:
        steps = {row["step"] for row in trace.rows("SELECT step FROM steps")}
        lengths, numbered = step_lengths(trace), numbered_steps(trace)
        return Survey(trace.once(calls_of), used_devices(trace), steps, groups_of(trace), lengths, numbered)


def analyse(task: RankTask) -> RankResult:
    """Analyse a rank, within what is known of the job."""
    with task.open() as trace:
        trace.state(job_size, task.job)
        trace.state(matching, task.collectives)
        trace.state(asked_step, task.path_step)
        trace.state(given_groups, task.given)
        known = analyses()
        question = Question.of(trace, task.steps, task.strict, threads=1, parts=task.parts)
        diagnosing = None if task.rules is None else Diagnosing(task.rules, task.strict)
        look = diagnosing.look_at if diagnosing is not None else None
        result = question.result([known[name] for name in task.wanted], look, task.named, lambda _: None)
        del question
    give_back_rank()
    return replace(result, diagnosing=diagnosing)


@dataclass(slots=True)
class Ranks:
    """The ranks of a trace as tasks on workers.

    Attributes:
        trace: The trace of all ranks, whose tables are not asked.
        workers: What runs the tasks.
        strict: Let unexpected errors through.
        failed: A line of health for each rank that could not be analysed.
    """

    trace: Trace
    workers: Workers
    strict: bool
    failed: list[HealthLine]

    def surveyed(self, ranks: Sequence[int]) -> Iterator[tuple[int, Survey]]:
        """Look at ranks; those that can't be opened are left out."""
        tasks = ((rank, self.trace.opening(rank)) for rank in ranks)
        for rank, outcome in zip(ranks, in_order(self.workers, survey, tasks), strict=True):
            if outcome.value is not None:
                yield rank, outcome.value
            else:
                self._note(rank, outcome.error)

    def analysed(self, tasks: Iterator[RankTask]) -> Iterator[RankResult]:
        """The result of each task that has one."""
        for outcome in in_order(self.workers, analyse, tasks):
            if outcome.value is not None:
                yield outcome.value
            else:
                self._note(outcome.item.rank, outcome.error)

    def _note(self, rank: int, error: Exception | None) -> None:
        if self.strict and error is not None and not isinstance(error, WorkerDiedError):
            raise error
        if isinstance(error, WorkerDiedError):
            why, effect = "each process that looked at it was ended by the system", "analyse it alone, with more memory"
        elif isinstance(error, StepscopeError):
            why, effect = error.message, error.hint
        else:
            why, effect = f"it failed ({type(error).__name__})", "run again with --debug and report what it shows"
        self.failed.append(
            HealthLine("rank-failed", "error", said("a rank was left out: {why}", why=why), effect, 1, rank)
        )


def memory_of(recordings: Mapping[int, Recording]) -> int:
    """Memory that analysing the largest of the ranks takes at most, about, in bytes."""
    events = max((recording.events for recording in recordings.values()), default=0)
    return min(_LEAST_MEMORY + _EVENT_BYTES * events, _MOST_MEMORY)
