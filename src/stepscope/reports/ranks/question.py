"""One rank to be analysed: what is asked of it, and what comes of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from stepscope.analyses.program import PROGRAM, program_of
from stepscope.analyses.registry import Analysis, table_of
from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.analyses.stepgraph import StepGraph
from stepscope.cluster.rank_parts import RankParts, parts_of
from stepscope.cluster.tables import table_of_part
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.model.recording import Recording
from stepscope.model.sizes import SIZES
from stepscope.model.table import Table
from stepscope.model.trace import Trace
from stepscope.reports.contents import RankLine
from stepscope.reports.health import Abstention
from stepscope.rules.engine import Diagnosing

#: Looks for findings in a trace, and does something else after every rule.
Look = Callable[[Trace, Callable[[], None]], None]
#: Why there is no table follows from what it lacks, once it is known what ran, or by a failure.
_Answer = Table | MissingInputError | Abstention

#: A device that the recording names and that did nothing, as far as it tells; one of several alike.
_UNUSED_SQL: Final = """
SELECT name FROM devices WHERE coalesce(name, '') <> '' AND NOT EXISTS (FROM kernels) ORDER BY device LIMIT 1
"""
_DEVICES_SQL: Final = """
SELECT DISTINCT k.device, d.name
FROM kernels k LEFT JOIN devices d ON d.rank = k.rank AND d.device = k.device ORDER BY ALL
"""


@dataclass(frozen=True, slots=True)
class RankResult:
    """What came of one rank.

    Attributes:
        rank: The rank.
        tables: Results by name.
        abstentions: Why other tables could not be computed.
        program: What it ran; None where nothing could be told, or was asked.
        health: Rows of its table `health`.
        devices: One line per device used.
        parts: What tables about all ranks need of it.
        diagnosing: What the rules found on it; None where they were not asked, or have been told already.
    """

    rank: int
    tables: dict[str, pa.Table]
    abstentions: list[Abstention]
    program: Program | None
    health: list[dict[str, Any]]
    devices: list[RankLine]
    parts: RankParts = field(default_factory=dict)
    diagnosing: Diagnosing | None = None


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Question:
    """One rank to be analysed: the whole of it, and its chosen steps.

    Attributes:
        whole: The trace of the rank.
        within: The same narrowed to the chosen steps.
        steps: The chosen steps; None for all.
        strict: Let unexpected errors of an analysis through.
        threads: Questions asked at a time; 0 for as many as suit the machine.
        parts: What tables about all ranks need of it, by name.
        between: Called after each question and before each rule, by any thread.
    """

    whole: Trace
    within: Trace
    steps: tuple[int, ...] | None
    strict: bool
    threads: int = 0
    parts: tuple[str, ...] = ()
    between: Callable[[], None] = _nothing

    @classmethod
    def of(
        cls, rank: Trace, steps: tuple[int, ...] | None, strict: bool, threads: int = 0, parts: tuple[str, ...] = ()
    ) -> Question:
        """The question about some steps of a rank, or all."""
        within = rank if steps is None else narrowed(rank, Filter(steps))
        return cls(rank, within, steps, strict, threads, parts)

    @property
    def recording(self) -> tuple[int, Recording]:
        """The rank and its recording."""
        [item] = self.whole.recordings.items()
        return item

    def result(
        self, wanted: Sequence[Analysis], look: Look | None, named: bool, said: Callable[[str], None]
    ) -> RankResult:
        """Ask everything.

        Args:
            wanted: What to ask.
            look: Looks for findings in the chosen steps.
            named: Whether tables were asked for by name: then what ran is only found out where one is missing.
            said: Called with the name of each question that has been answered.
        """
        answers: dict[str, _Answer] = {}
        for name, answer in self.ask_all(wanted, look):
            said(name)
            answers[name] = answer
        program = Program()
        if not named or any(isinstance(answer, MissingInputError) for answer in answers.values()):
            known = self.program()
            if isinstance(known, Program):
                program = known
            else:
                answers[PROGRAM.name] = known
        tables: dict[str, pa.Table] = {}
        abstentions: list[Abstention] = []
        for name in dict.fromkeys((*(analysis.name for analysis in wanted), *answers)):
            answer = answers[name]
            if isinstance(answer, Table):
                tables[name] = answer.arrow
            elif isinstance(answer, MissingInputError):
                abstentions.append(Abstention.lacking(name, answer, self.recording, program))
            else:
                abstentions.append(answer)
        told = not named and isinstance(answers.get(PROGRAM.name), Table)
        rank, recording = self.recording
        used = [(row["device"], row["name"]) for row in self.whole.rows(_DEVICES_SQL)]
        used = used or [(None, row["name"]) for row in self.whole.rows(_UNUSED_SQL)] or [(None, None)]
        lines = [RankLine(rank, device, name, recording.world_size) for device, name in used]
        health = self.whole.table("health").records()
        parts = self.rank_parts(abstentions)
        return RankResult(rank, tables, abstentions, program if told else None, health, lines, parts)

    def ask_all(self, wanted: Sequence[Analysis], look: Look | None) -> Iterator[tuple[str, _Answer]]:
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
            question: Question = local.question
            answer = question.ask(analysis)
            between()
            return answer

        def between() -> None:
            if large:
                self.forget()
            self.between()

        large = self.whole.large
        workers = 1 if large else self.threads or min(4, os.cpu_count() or 1)
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

    def rank_parts(self, abstentions: list[Abstention]) -> RankParts:
        """What tables about all ranks need of this one; where finding it fails, health says so."""

        def failed(part: str, error: Exception) -> None:
            if self.strict:
                raise error
            abstentions.append(Abstention.failing(table_of_part(part), error, self.recording))

        return parts_of(self.whole, self.parts, failed)

    def forget(self) -> None:
        """Keep little that is large for other questions."""
        for trace in {self.whole, self.within}:
            trace.forget(SIZES.kept_bytes, SIZES.kept_last)

    def ask(self, analysis: Analysis) -> _Answer:
        """The answer to one question."""
        try:
            return table_of(analysis, self.whole, self.within, self.steps)
        except MissingInputError as error:
            return error.without_traceback()
        except Exception as error:
            if self.strict:
                raise
            return Abstention.failing(analysis.name, error, self.recording)
