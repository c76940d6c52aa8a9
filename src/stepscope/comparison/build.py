"""Compare two traces: from two open inputs to a `Comparison`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from stepscope.comparison.comparable import differences, same_recording
from stepscope.comparison.findings import FINDINGS, changes, findings_of, findings_table
from stepscope.comparison.matching.call_tree import call_tree
from stepscope.comparison.matching.tree_tables import tree_tables
from stepscope.comparison.metrics import metric_shifts
from stepscope.comparison.noise.ratio import CONFIDENCE
from stepscope.comparison.parts import splits
from stepscope.comparison.parts.amounts import Amount, Beside
from stepscope.comparison.parts.charged import charged
from stepscope.comparison.parts.overall import OVERALL, overall_sums, overall_table
from stepscope.comparison.parts.part_sums import PartKey, part_sums, phase_sums
from stepscope.comparison.parts.tables import (
    COMPUTE_CLASSES,
    COMPUTE_KERNELS,
    COMPUTE_OPERATORS,
    STEP_PARTS,
    STEP_PHASES,
    table_of_amounts,
)
from stepscope.comparison.result import Comparison, UncomparedTable
from stepscope.comparison.side import ComparedSide, chosen_rank, side_of
from stepscope.comparison.summary import summary_of
from stepscope.comparison.verdict import step_times
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.schema import TableSchema
from stepscope.model.table import Table
from stepscope.model.trace import Trace

T = TypeVar("T")


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
    """

    base_rank: int | None = None
    rank: int | None = None
    base_steps: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    confidence: float = CONFIDENCE
    names: Mapping[str, str] = field(default_factory=dict)
    findings: bool = True


def confidence_of(wanted: float | None) -> float:
    """The confidence asked for, or the default.

    Raises:
        UserError: It is no probability that an interval may have.
    """
    if wanted is None:
        return CONFIDENCE
    if not 0.5 < wanted < 1:
        raise UserError(f"no interval has a confidence of {wanted:g}", hint="give one between 0.5 and 1, such as 0.95")
    return wanted


def compare_traces(base: Trace, new: Trace, options: CompareOptions | None = None) -> Comparison:
    """Compare two traces.

    Raises:
        UserError: A side lacks the rank or step asked for.
    """
    options = options or CompareOptions()
    first, second = chosen_rank(base, new)
    sides = (
        side_of(base, _rank(base, options.base_rank, first), options.base_steps),
        side_of(new, _rank(new, options.rank, options.base_rank, second), options.steps),
    )
    tables: dict[str, Table] = {}
    lacking: list[UncomparedTable] = []
    times = (sides[0].times, sides[1].times)
    sums = _both(sides, part_sums, STEP_PARTS.name, lacking)
    parts: tuple[Beside[str], ...] = ()
    if sums is not None:
        tables[STEP_PARTS.name] = _exact(STEP_PARTS, sums, times)
        parts = _parts(tables[STEP_PARTS.name])
    phases = _both(sides, phase_sums, STEP_PHASES.name, lacking)
    if phases is not None:
        tables[STEP_PHASES.name] = _exact(STEP_PHASES, phases, times)
    if all(side.unit in ("step", "window") for side in sides):
        tables[OVERALL.name] = overall_table(*(overall_sums(side) for side in sides))
        works = [charged(side) for side in sides]
        for schema, split in (
            (COMPUTE_CLASSES, splits.by_class), (COMPUTE_OPERATORS, splits.by_operator),
            (COMPUTE_KERNELS, splits.by_kernel),
        ):  # fmt: skip
            base_amounts, new_amounts = (split(side.trace, work) for side, work in zip(sides, works, strict=True))
            base_amounts = splits.renamed(base_amounts, options.names)
            tables[schema.name] = table_of_amounts(schema, base_amounts, new_amounts, times)
        base_tree, new_tree = (call_tree(side, work) for side, work in zip(sides, works, strict=True))
        tables |= tree_tables(base_tree, new_tree, times, options.names)
    found = tuple(findings_of(side) for side in sides) if options.findings else ((), ())
    base_summary, new_summary = (summary_of(side) for side in sides)
    timed = step_times(base_summary, new_summary, options.confidence)
    different = () if same_recording(*sides) else differences(
        base_summary.recorded, new_summary.recorded, (base_summary.operators, new_summary.operators)
    )  # fmt: skip
    ratio = timed.interval if timed.unit != "window" else None
    changed = changes(found[0], found[1], timed.base_ns)
    if options.findings:
        tables[FINDINGS.name] = findings_table(changed)
    metrics = metric_shifts(base_summary, new_summary, ratio, options.confidence)
    return Comparison(
        base_summary.facts, new_summary.facts, different, timed, metrics, parts, tables, tuple(lacking), changed
    )


def _rank(trace: Trace, *wanted: int | None) -> int:
    """The first of these ranks that was asked for; the last is a rank of the trace.

    Raises:
        UserError: The trace lacks it.
    """
    rank = next(one for one in wanted if one is not None)
    if rank not in trace.ranks:
        raise UserError(f"the input has no rank {rank}", hint="it has " + ", ".join(map(str, trace.ranks[:12])))
    return rank


def _both(
    sides: Sequence[ComparedSide], ask: Callable[[ComparedSide], T], table: str, lacking: list[UncomparedTable]
) -> tuple[T, T] | None:
    """The answers of both sides; None if one lacks what the question needs, which is noted."""
    found: list[T] = []
    for name, side in zip(("base", "new"), sides, strict=True):
        try:
            found.append(ask(side))
        except MissingInputError as error:
            lacking.append(UncomparedTable(table, name, error.message, error.hint))
    return (found[0], found[1]) if len(found) == 2 else None


def _exact(schema: TableSchema, sums: tuple[dict[PartKey, int], dict[PartKey, int]], times: tuple[int, int]) -> Table:
    amounts = [{key: Amount(value) for key, value in one.items()} for one in sums]
    return table_of_amounts(schema, amounts[0], amounts[1], times)


def _parts(table: Table) -> tuple[Beside[str], ...]:
    """The parts without details, in the order of their differences."""
    found: dict[str, list[int]] = {}
    for row in table.records():
        part = found.setdefault(row["part"], [0, 0])
        part[0] += row["base_ns"]
        part[1] += row["new_ns"]
    rows = [Beside(name, base, new, 1.0, 1.0) for name, (base, new) in found.items()]
    return tuple(sorted(rows, key=lambda row: (-abs(row.diff_ns), -row.new_ns, row.key)))
