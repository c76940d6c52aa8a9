"""Lines of health: problems of the input, what it lacks, and tables that were not computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from stepscope.ingest.inputs import SOURCES, source_of
from stepscope.language import listing, recalled, said
from stepscope.model.errors import MissingInputError
from stepscope.model.inputs import Input
from stepscope.model.program import Program
from stepscope.model.recording import Recording
from stepscope.model.trace import Note
from stepscope.reports.hints import how_to_mark, how_to_record

#: From wrong numbers to information.
SEVERITIES: Final = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class HealthLine:
    """One observation.

    Attributes:
        code: Stable name of the observation.
        severity: error (numbers are wrong), warning (some are missing or approximate) or info.
        message: The observation.
        effect: What it means for the numbers, and what to record next time.
        count: How often it occurs.
        rank: Rank concerned; None for the input as a whole.
    """

    code: str
    severity: str
    message: str
    effect: str
    count: int = 1
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Abstention:
    """A table that could not be computed.

    Attributes:
        table: Its name.
        message: What is missing.
        hint: What to record next time.
        failed: Whether the analysis failed, rather than lacking its input.
        ranks: Ranks concerned.
        partly: Whether there are other ranks for which it was computed.
        needs: The kind of input that is missing, where it is a known one.
        applies: Whether recordings of this kind may hold what is missing; if not, there is nothing to be done.
    """

    table: str
    message: str
    hint: str
    failed: bool
    ranks: tuple[int, ...]
    partly: bool = False
    needs: Input | None = None
    applies: bool = True

    @classmethod
    def lacking(
        cls, table: str, error: MissingInputError, source: tuple[int, Recording], program: Program
    ) -> Abstention:
        """For a table of one rank that lacks its input; how that is recorded, profiler and program decide."""
        rank, recording = source
        if error.needs is None or recording.reader not in SOURCES:
            return cls(table, error.message, error.hint, False, (rank,), needs=error.needs)
        single = error.needs == "collectives" and (recording.world_size or 1) == 1
        how = None if single else how_to_record(error.needs, recording.reader, program)
        return cls(table, error.message, how or error.hint, False, (rank,), needs=error.needs, applies=how is not None)

    @classmethod
    def failing(cls, table: str, error: Exception, source: tuple[int, Recording]) -> Abstention:
        """The abstention of a table whose analysis failed on one rank."""
        message = said("it failed ({name})", name=type(error).__name__)
        return cls(table, message, "run again with --debug and report what it shows", True, (source[0],))

    @classmethod
    def merged(cls, abstentions: Iterable[Abstention], ranks: int) -> tuple[Abstention, ...]:
        """One abstention per table and reason, for `ranks` ranks in all."""
        together: dict[tuple[str, str, str], Abstention] = {}
        for one in abstentions:
            key = (one.table, one.message, one.hint)
            before = together.get(key)
            together[key] = replace(before, ranks=before.ranks + one.ranks) if before else one
        silent: dict[str, int] = {}
        for one in together.values():
            silent[one.table] = silent.get(one.table, 0) + len(one.ranks)
        return tuple(replace(one, partly=silent[one.table] < ranks) for one in together.values())


#: Observations about steps that are not marked.
_UNMARKED: Final = ("steps-none", "steps-inferred", "steps-loaded")
#: That of a recording of the host alone.
_NO_DEVICE: Final = "no-device"
#: That of options of PyTorch's profiler.
_OPTIONS: Final = "options-off"


def trace_lines(
    notes: Sequence[Note], rows: Iterable[Mapping[str, Any]], programs: Mapping[int, Program]
) -> list[HealthLine]:
    """Observations of the readers, errors first.

    Args:
        notes: Those about the input as a whole.
        rows: Those about ranks, as table `health` has them.
        programs: What each rank ran.
    """
    lines = [HealthLine(code, severity, message, effect, count) for code, severity, count, message, effect in notes]
    for row in rows:
        if not _is_foreign(row["code"], programs.get(row["rank"])):
            lines.append(_advised(HealthLine(**row), programs))
    return by_severity(lines)


def trigger_lines(recordings: Mapping[int, Recording]) -> list[HealthLine]:
    """Why the recording was made, once for all ranks that say the same: the first line of a report."""
    ranks: dict[str, list[int]] = {}
    for rank, recording in recordings.items():
        if trigger := recording.attributes.get("trigger"):
            ranks.setdefault(str(trigger), []).append(rank)
    effect = "what is recorded are the steps after that"
    return [
        HealthLine(
            "triggered", "info", words, effect, len(those), those[0] if len(those) == 1 < len(recordings) else None
        )
        for words, those in ranks.items()
    ]


def by_severity(lines: Iterable[HealthLine]) -> list[HealthLine]:
    """Observations, errors first; otherwise in their order."""
    return sorted(lines, key=lambda line: SEVERITIES.index(line.severity) if line.severity in SEVERITIES else 0)


def _is_foreign(code: str, program: Program | None) -> bool:
    """Whether an observation is about options that the profiler at hand doesn't have: PyTorch's own."""
    return code == _OPTIONS and program is not None and source_of(program.recorder).framework == "unknown"


def _advised(line: HealthLine, programs: Mapping[int, Program]) -> HealthLine:
    """An observation with how to record it better, where that depends on the program."""
    program = programs.get(line.rank) if line.rank is not None else None
    if program is None or line.code not in (*_UNMARKED, _NO_DEVICE):
        return line
    how = how_to_record("device", program.recorder, program) if line.code == _NO_DEVICE else how_to_mark(program)
    return replace(line, effect=listing(filter(None, (recalled(line.effect), how)), "; "))


def abstention_lines(abstentions: Iterable[Abstention]) -> list[HealthLine]:
    """A line for every table that failed, and for all that lack the same input and could have it."""
    lines = []
    for same in by_reason(abstentions):
        one = same[0]
        where = said(" for {ranks} of the ranks", ranks=len(one.ranks)) if one.partly else ""
        rank = one.ranks[0] if len(one.ranks) == 1 and one.partly else None
        code, severity = ("analysis-failed", "error") if one.failed else ("not-computed", "info")
        tables = ", ".join(other.table for other in same)
        message = said(
            "{tables} {en_was} not computed{where}: {message}",
            tables=tables, en_was="was" if len(same) == 1 else "were", where=where,
            message=recalled(one.message),
        )  # fmt: skip
        lines.append(HealthLine(code, severity, message, one.hint, len(one.ranks), rank))
    return sorted(lines, key=lambda line: SEVERITIES.index(line.severity))


def by_reason(abstentions: Iterable[Abstention]) -> list[list[Abstention]]:
    """Those that something can be done about, put together where they lack the same on the same ranks."""
    grouped: dict[tuple[object, ...], list[Abstention]] = {}
    for one in abstentions:
        if one.applies:
            alone = one.table if one.failed else None
            grouped.setdefault((one.needs or one.message, one.hint, one.ranks, one.partly, alone), []).append(one)
    return list(grouped.values())
