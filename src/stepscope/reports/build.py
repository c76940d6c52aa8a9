"""Build a report from an open trace: run every analysis on every rank, and note those that lack their input."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa

from stepscope.analyses.program import PROGRAM, program_of
from stepscope.analyses.registry import Analysis, analyses, table_of
from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.process.footprint import give_back_rank
from stepscope.model.program import Program
from stepscope.model.recording import Recording
from stepscope.model.sizes import SIZES
from stepscope.model.suggest import choose
from stepscope.model.table import Table
from stepscope.model.trace import Trace
from stepscope.reports.contents import RankLine
from stepscope.reports.health import Abstention, abstention_lines, trace_lines
from stepscope.reports.report import Report
from stepscope.reports.sections.views import SHOWN
from stepscope.reports.selection import Selection, chosen_ranks, steps_of_rank
from stepscope.rules.engine import Diagnosing
from stepscope.rules.settings import Settings

#: Called with (what is being done, done, in all).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report is to contain.

    Attributes:
        steps: Steps to look at, as column `step` has them: by their recorded number; empty for all.
        ranks: Ranks to look at; empty for all.
        tables: Names of the tables to compute; empty for all.
        page: Compute only what a page shows something of, unless tables are named.
        rules: Which rules look for findings, and their thresholds; None for none. Rules do not run where tables are
            named.
        all_findings: Show findings that cost next to nothing too.
        strict: Let unexpected errors of an analysis through instead of noting them in health.
        progress: Told of the progress.
    """

    steps: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    tables: tuple[str, ...] = ()
    page: bool = False
    rules: Settings | None = field(default_factory=Settings)
    all_findings: bool = False
    strict: bool = False
    progress: Progress = lambda *_: None


def build_report(trace: Trace, options: ReportOptions | None = None) -> Report:
    """Run the analyses over every rank of a trace.

    Raises:
        UserError: The options name a rank, step or table that does not exist.
    """
    options = options or ReportOptions()
    wanted = _wanted(options.tables, options.page)
    ranks = chosen_ranks(trace, options.ranks)
    selection = Selection(options.steps, options.ranks, options.tables)
    steps = steps_of_rank(trace, ranks, options.steps)
    parts: dict[str, list[pa.Table]] = {analysis.name: [] for analysis in wanted}
    abstentions: list[Abstention] = []
    programs: dict[int, Program] = {}
    diagnosing = None if options.rules is None or options.tables else Diagnosing(options.rules, options.strict)
    for position, rank in enumerate(ranks):
        one = trace.rank(rank)
        question = _Question(
            one,
            narrowed(one, Filter(steps[rank])) if options.steps else one,
            steps[rank] if options.steps else None,
            options.strict,
        )
        look = diagnosing.look_at if diagnosing is not None else None
        answers: dict[str, _Answer] = {}
        for number, (name, answer) in enumerate(question.ask_all(wanted, look)):
            options.progress(f"rank {rank}: {name}", position * len(wanted) + number, len(ranks) * len(wanted))
            answers[name] = answer
        program = Program()
        if not options.tables or any(isinstance(answer, MissingInputError) for answer in answers.values()):
            known = question.program()
            if isinstance(known, Program):
                program = known
            else:
                answers[PROGRAM.name] = known
        if not options.tables and isinstance(answers.get(PROGRAM.name), Table):
            programs[rank] = program
        for name in dict.fromkeys((*parts, *answers)):
            answer = answers[name]
            if isinstance(answer, Table):
                parts[name].append(answer.arrow)
            elif isinstance(answer, MissingInputError):
                abstentions.append(Abstention.lacking(name, answer, question.recording, program))
            else:
                abstentions.append(answer)
        if len(ranks) > 1:
            del one, question
            give_back_rank()
    merged = Abstention.merged(abstentions, len(ranks))
    return Report(
        sources={rank: trace.recordings[rank] for rank in ranks},
        health=(*trace_lines(trace, ranks, programs), *abstention_lines(merged)),
        ranks=_rank_lines(trace, ranks),
        tables={analysis.name: _joined(analysis, parts[analysis.name]) for analysis in wanted},
        abstentions=merged,
        diagnosis=diagnosing.finish() if diagnosing is not None else None,
        all_findings=options.all_findings,
        selection=selection,
        programs=programs,
        places=trace.places,
    )


#: Looks for findings in a trace, and does something else after every rule.
_Look = Callable[[Trace, Callable[[], None]], None]
#: Why there is no table follows from what it lacks, once it is known what ran, or by a failure.
_Answer = Table | MissingInputError | Abstention


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class _Question:
    """One rank to be analysed: the whole of it, and its chosen steps."""

    whole: Trace
    within: Trace
    steps: tuple[int, ...] | None
    strict: bool

    @property
    def recording(self) -> tuple[int, Recording]:
        [item] = self.whole.recordings.items()
        return item

    def ask_all(self, wanted: Sequence[Analysis], look: _Look | None) -> Iterator[tuple[str, _Answer]]:
        """Yield the name and answer of each question, several at a time, each thread on its own connection.

        The last ones start first: rules start with the results of the first ones, and a thread that needs a result
        which another one is computing waits for it.

        Args:
            wanted: What to ask.
            look: Looks for findings in the chosen steps, beside the first questions; of a large rank before them.
        """
        local = threading.local()

        def ask(analysis: Analysis) -> _Answer:
            if not hasattr(local, "question"):
                whole = self.whole.for_thread()
                within = whole if self.within is self.whole else self.within.for_thread()
                local.question = replace(self, whole=whole, within=within)
            question: _Question = local.question
            answer = question.ask(analysis)
            between()
            return answer

        large = self.recording[1].events > SIZES.concurrent_events
        between = self.forget if large else _nothing
        workers = 1 if large else min(4, os.cpu_count() or 1)
        with ThreadPoolExecutor(workers, thread_name_prefix="stepscope-analyses") as executor:
            looking = None if look is None else executor.submit(look, self.within.for_thread(), between)
            if looking is not None and not large:
                # Rules come to their prices late, and are the last to be done. They are told what goes wrong with it.
                executor.submit(StepGraph.of, self.within.for_thread())
            order = wanted[::-1]
            yield from zip((analysis.name for analysis in order), executor.map(ask, order), strict=True)
            if looking is not None:
                looking.result()

    def program(self) -> Program | Abstention:
        """What the rank ran. Where that fails, health says so; hints are then those for any program."""
        try:
            return program_of(self.whole)
        except Exception as error:
            if self.strict:
                raise
            return Abstention.failing(PROGRAM.name, error, self.recording)

    def forget(self) -> None:
        """Keep nothing large for other questions."""
        for trace in {self.whole, self.within}:
            trace.forget(SIZES.kept_bytes)

    def ask(self, analysis: Analysis) -> _Answer:
        """The answer to one question."""
        try:
            return table_of(analysis, self.whole, self.within, self.steps)
        except MissingInputError as error:
            return error
        except Exception as error:
            if self.strict:
                raise
            return Abstention.failing(analysis.name, error, self.recording)


def _wanted(names: tuple[str, ...], page: bool) -> list[Analysis]:
    known = analyses()
    for name in names:
        if name not in known:
            raise UserError(f"no table is called {name!r}", hint=choose(name, known))
    shown = names or (SHOWN if page else known)
    return [analysis for name, analysis in known.items() if name in shown]


def _joined(analysis: Analysis, parts: list[pa.Table]) -> Table:
    return Table.from_arrow(analysis.schema, pa.concat_tables(parts)) if parts else Table.empty(analysis.schema)


_DEVICES_SQL: Final = """
SELECT DISTINCT k.rank, k.device, d.name
FROM kernels k LEFT JOIN devices d ON d.rank = k.rank AND d.device = k.device ORDER BY ALL
"""


def _rank_lines(trace: Trace, ranks: tuple[int, ...]) -> tuple[RankLine, ...]:
    """Devices with activity, of each rank."""
    used: dict[int, list[tuple[int | None, str | None]]] = {}
    for row in trace.rows(_DEVICES_SQL):
        used.setdefault(row["rank"], []).append((row["device"], row["name"]))
    return tuple(
        RankLine(rank, device, name, trace.recordings[rank].world_size)
        for rank in ranks
        for device, name in used.get(rank, [(None, None)])
    )
