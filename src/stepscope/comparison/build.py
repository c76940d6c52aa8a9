"""Compare two traces: from two open inputs to a `Comparison`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from stepscope.comparison.causes.inside import CAUSE_TABLES
from stepscope.comparison.causes.sentence import causes_of, sentence
from stepscope.comparison.comparable import differences, same_recording
from stepscope.comparison.findings import FINDINGS, SideFindings, changes, findings_of, findings_table
from stepscope.comparison.levels import level_tables, step_counts, tables_of_levels, unseen_tables
from stepscope.comparison.matching.used_names import unused_names
from stepscope.comparison.metrics import metric_shifts
from stepscope.comparison.noise.ratio import CONFIDENCE
from stepscope.comparison.parts.amounts import Amount, Beside, certainty
from stepscope.comparison.parts.part_sums import as_told, part_sums
from stepscope.comparison.parts.tables import STEP_PARTS
from stepscope.comparison.result import Comparison
from stepscope.comparison.side import ComparedSide, chosen_rank, side_of
from stepscope.comparison.summary import summary_of
from stepscope.comparison.verdict import step_times
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.table import Table
from stepscope.model.trace import Trace

#: Parts of the work, for who is told how far it is.
_PARTS: Final = 5


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What to compare.

    Attributes:
        base_rank: Rank of the base; None for the one that waits least for the others.
        rank: Rank of the new side; None for the same, else the one that waits least.
        base_steps: Steps of the base; empty for the typical ones.
        steps: Steps of the new side; empty for the typical ones.
        confidence: Chance that the interval of the step time's ratio holds the true one, 0.5 to 1, exclusive.
        names: Names of operators, modules and kernels of the new side by those of the base, for what was renamed.
        findings: Whether rules look for findings on both sides, which takes most of the time.
        levels: Some of `LEVELS`; empty for all.
        details: Whether there are tables of pairs and kernels too, not only sums by name.
        shapes: Tell operators apart by the shapes of their inputs.
        pages: Whether tables that pages in text do not have are left out.
        progress: Told what is being done, how many parts of the work are done, and of how many.
    """

    base_rank: int | None = None
    rank: int | None = None
    base_steps: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    confidence: float = CONFIDENCE
    names: Mapping[str, str] = field(default_factory=dict)
    findings: bool = True
    levels: tuple[str, ...] = ()
    details: bool = True
    shapes: bool = False
    pages: bool = False
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None


def confidence_of(wanted: float | None) -> float:
    """The confidence asked for, or the default.

    Raises:
        UserError: It is no probability that an interval may have.
    """
    if wanted is None:
        return CONFIDENCE
    if not 0.5 < wanted < 1:
        message = said("no interval has a confidence of {wanted:g}", wanted=wanted)
        raise UserError(message, hint="give one between 0.5 and 1, such as 0.95")
    return wanted


def compare_traces(base: Trace, new: Trace, options: CompareOptions | None = None) -> Comparison:
    """Compare two traces.

    Raises:
        UserError: A side lacks the rank or step asked for.
    """
    options = options or CompareOptions()
    note = options.progress
    note(said("steps"), 0, _PARTS)
    sides = _sides(base, new, options)
    wanted = tables_of_levels(options.levels, options.details)
    note(said("what differs"), 1, _PARTS)
    # Causes are looked for in tables of all levels, or of those that are asked for alone.
    behind = CAUSE_TABLES & tables_of_levels(options.levels, details=True)
    unseen = unseen_tables(options.levels) if options.pages else frozenset()
    tables, lacking, work = level_tables(
        sides, wanted | behind, options.names, options.shapes, options.confidence, unseen
    )
    lacking = tuple(one for one in lacking if one.table in wanted)
    parts, strict = (
        _parts(tables[STEP_PARTS.name], sides, options.confidence) if STEP_PARTS.name in tables else ((), {})
    )
    found = [SideFindings(), SideFindings()]
    for i, side in enumerate(sides if options.findings else ()):
        note((said("findings of the base"), said("findings of the new side"))[i], 2 + i, _PARTS)
        found[i] = findings_of(side)
    note(said("the verdict"), _PARTS - 1, _PARTS)
    base_summary, new_summary = (summary_of(side) for side in sides)
    timed = step_times(base_summary, new_summary, options.confidence)
    different = () if same_recording(*sides) else differences(
        base_summary.recorded, new_summary.recorded, (base_summary.operators, new_summary.operators)
    )  # fmt: skip
    different = (*unused_names(sides[0].trace, sides[1].trace, options.names), *different)
    ratio = timed.interval if timed.unit != "window" else None
    changed = changes(found[0], found[1], timed.base_ns)
    if options.findings:
        tables[FINDINGS.name] = findings_table(changed)
    metrics = metric_shifts(base_summary, new_summary, ratio, options.confidence, timed.steps)
    tables |= timed.steps.tables()
    causes = causes_of(parts, strict, tables, timed, work, step_counts(sides, options.confidence))
    why = sentence(timed, causes, metrics, different, tables)
    tables = {name: table for name, table in tables.items() if name in wanted or name not in CAUSE_TABLES}
    return Comparison(
        base_summary.facts, new_summary.facts, different, timed, metrics, parts, tables, lacking, changed, causes, why
    )


def refuse_itself(base: Trace, new: Trace, options: CompareOptions) -> None:
    """Raise an error if both sides are the same steps of the same rank.

    Raises:
        UserError: They are, or a side lacks the rank or step asked for.
    """
    first, second = _sides(base, new, options)
    if same_recording(first, second) and first.steps == second.steps:
        message = said("both sides are rank {rank} of one recording, in the same steps", rank=first.rank)
        raise UserError(message, hint="say what the other side is: --rank, --step, --run or --span")


def _sides(base: Trace, new: Trace, options: CompareOptions) -> tuple[ComparedSide, ComparedSide]:
    first, second = chosen_rank(base, new)
    return (
        side_of(base, _rank(base, options.base_rank, first), options.base_steps),
        side_of(new, _rank(new, options.rank, options.base_rank, second), options.steps),
    )


def _rank(trace: Trace, *wanted: int | None) -> int:
    """The first of these ranks that was asked for; the last is a rank of the trace.

    Raises:
        UserError: The trace lacks it.
    """
    rank = next(one for one in wanted if one is not None)
    if rank not in trace.ranks:
        hint = said("it has {ranks}", ranks=", ".join(map(str, trace.ranks[:12])))
        raise UserError(said("the input has no rank {rank}", rank=rank), hint=hint)
    return rank


def _parts(
    table: Table | None, sides: tuple[ComparedSide, ComparedSide], confidence: float
) -> tuple[tuple[Beside[str], ...], dict[str, float | None]]:
    """The parts without details, in the order of their differences, and of each half of its interval among all."""
    if table is None:
        return (), {}
    found: dict[str, list[int]] = {}
    for row in table.records():
        part = found.setdefault(row["part"], [0, 0])
        part[0] += row["base_ns"]
        part[1] += row["new_ns"]
    amounts: list[dict[str, Amount]] = [{}, {}]
    of_sides = as_told(*sides, (part_sums(sides[0]), part_sums(sides[1])))
    for sums, of_side in zip(amounts, of_sides, strict=True):
        for (name, _), amount in of_side.items():
            sums[name] = sums.get(name, Amount()) + amount
    counts = step_counts(sides, confidence)
    rows = [
        Beside(name, base, new, 1.0, 1.0,
               certainty(amounts[0].get(name, Amount()), amounts[1].get(name, Amount()), counts))
        for name, (base, new) in found.items()
    ]  # fmt: skip
    # That none of n parts is called different by chance takes n times the certainty (Bonferroni).
    among = counts._replace(confidence=1 - (1 - confidence) / max(1, len(found)))
    strict = {name: certainty(amounts[0].get(name, Amount()), amounts[1].get(name, Amount()), among) for name in found}
    return tuple(sorted(rows, key=lambda row: (-abs(row.diff_ns), -row.new_ns, row.key))), strict
