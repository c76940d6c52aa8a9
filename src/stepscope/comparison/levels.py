"""Which tables a comparison has, by level, and how each is made of both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from stepscope.comparison.causes.groups import SideSums, WorkSums
from stepscope.comparison.matching.call_details import describe
from stepscope.comparison.matching.call_tree import allocation_charges, call_tree, compute_charges
from stepscope.comparison.matching.meeting import met
from stepscope.comparison.matching.tree_tables import (
    COMPUTE_CALLS,
    COMPUTE_MODULES,
    MEMORY_CALLS,
    memory_calls,
    tree_tables,
)
from stepscope.comparison.noise.ratio import CONFIDENCE
from stepscope.comparison.parts import splits
from stepscope.comparison.parts.allocations import MEMORY, memory_sums, memory_table, step_allocations
from stepscope.comparison.parts.amounts import Amount, StepCounts
from stepscope.comparison.parts.besides import (
    API,
    COMMUNICATION,
    RUNTIME_CALLS,
    api_table,
    communication_sums,
    host_time,
    runtime_calls,
)
from stepscope.comparison.parts.charged import BUSY, charged
from stepscope.comparison.parts.durations import durations_table
from stepscope.comparison.parts.kernel_sums import KERNEL_SHAPES, KERNEL_TYPES, kernel_shapes, kernel_types
from stepscope.comparison.parts.overall import OVERALL, overall_sums, overall_table
from stepscope.comparison.parts.part_sums import PartKey, as_told, part_sums, phase_sums
from stepscope.comparison.parts.peak import MEMORY_PEAK, peak_sums, peak_table
from stepscope.comparison.parts.per_call import PER_CALL, call_times, per_call_table
from stepscope.comparison.parts.served import SERVED_ROLES, served_sums, served_table
from stepscope.comparison.parts.tables import (
    COMPUTE_CLASSES,
    COMPUTE_KERNELS,
    COMPUTE_OPERATORS,
    EXPOSED_WORK,
    STEP_PARTS,
    STEP_PHASES,
    table_of_amounts,
)
from stepscope.comparison.result import UncomparedTable
from stepscope.comparison.side import ComparedSide
from stepscope.ingest.inputs import source_of
from stepscope.language import said
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.schema import TableSchema
from stepscope.model.suggest import choose
from stepscope.model.table import Table

T = TypeVar("T")
Sides = tuple[ComparedSide, ComparedSide]

#: Levels, and their tables beyond those of `overall`, which all comparisons have parts of.
LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "overall": ("step_parts", "step_phases", "served_roles", "compute_classes", "exposed_work", "overall"),
    "operators": ("compute_operators", "compute_calls", "times_per_call"),
    "modules": ("compute_module_classes", "compute_modules"),
    "communication": ("communication",),
    "memory": ("memory", "memory_calls", "memory_peak"),
    "kernels": ("compute_kernels", "kernel_shapes", "kernel_types", "times_per_call"),
    "api": ("api", "runtime_calls"),
}
#: What the lengths of a side are of, as `UNIT_HINT` is about.
UNIT_WORDS: Final = {
    "step": said("steps"), "host step": said("steps of the host alone"),
    "window": said("a whole recording without steps"), "none": said("a recording without times"),
}  # fmt: skip
UNIT_HINT: Final = said("record both in the same way, with marked steps and their devices")
#: Tables of pairs rather than of sums by name.
DETAILS: Final = ("compute_calls", "compute_modules", "compute_kernels", "kernel_shapes", "memory_calls")


#: Tables that pages in text never have, and that which they have where its level is named.
_UNSEEN: Final = frozenset({"compute_calls", "compute_modules", "kernel_shapes", "kernel_types", "memory_calls"})
_NAMED: Final = "overall"


def unseen_tables(levels: Sequence[str]) -> frozenset[str]:
    """Tables that pages in text do not have."""
    return _UNSEEN if _NAMED in levels else _UNSEEN | {_NAMED}


def tables_of_levels(levels: Sequence[str], details: bool) -> frozenset[str]:
    """Names of the tables that levels mean; all of them without levels.

    Raises:
        UserError: There is no such level.
    """
    for level in levels:
        if level not in LEVELS:
            raise UserError(said("there is no level {level!r}", level=level), hint=choose(level, LEVELS))
    wanted = {name for level in (levels or LEVELS) for name in LEVELS[level]} | {STEP_PARTS.name}
    return frozenset(wanted if details else wanted - set(DETAILS))


def level_tables(
    sides: Sides,
    wanted: frozenset[str],
    names: Mapping[str, str],
    shapes: bool,
    confidence: float = CONFIDENCE,
    unseen: frozenset[str] = frozenset(),
) -> tuple[dict[str, Table], tuple[UncomparedTable, ...], WorkSums]:
    """The tables that both sides have the input for, those that one lacks it for, and sums that causes rest on.

    Args:
        sides: Base and new side.
        wanted: Names of tables.
        names: Names of the new side by those of the base.
        shapes: Tell operators apart by the shapes of their inputs.
        confidence: Chance that an interval holds the true difference.
        unseen: Tables among those wanted that nobody looks at, and that are not made.
    """
    tables: dict[str, Table] = {}
    works: dict[str, SideSums] = {}
    lacking: list[UncomparedTable] = []
    times = step_counts(sides, confidence)
    wanted, unlike = _comparable_units(sides, wanted)
    lacking += unlike
    wanted -= unseen
    for schema, ask in ((STEP_PARTS, part_sums), (STEP_PHASES, phase_sums)):
        sums = _both(sides, ask, schema.name, lacking) if schema.name in wanted else None
        if sums is not None:
            tables[schema.name] = _exact(schema, as_told(*sides, sums), times)
    if SERVED_ROLES.name in wanted and all(served := [served_sums(side) for side in sides]):
        tables[SERVED_ROLES.name] = served_table(served[0], served[1])
    if OVERALL.name in wanted and all(side.unit in ("step", "window") for side in sides):
        tables[OVERALL.name] = overall_table(*(overall_sums(side) for side in sides))
    if sides[0].unit == sides[1].unit and sides[0].unit in ("step", "window"):
        made, works = _compute(sides, wanted, names, shapes, times)
        tables |= made
    if COMMUNICATION.name in wanted and (found := _both(sides, communication_sums, COMMUNICATION.name, lacking)):
        tables[COMMUNICATION.name] = durations_table(COMMUNICATION, found[0], found[1], times)
    if MEMORY.name in wanted and (held := _both(sides, memory_sums, MEMORY.name, lacking)):
        mapped = (splits.renamed(held[0][0], names), splits.renamed(held[0][1], names))
        tables[MEMORY.name] = memory_table(mapped, held[1], _steps(sides, confidence))
    if MEMORY_CALLS.name in wanted and MEMORY.name in tables:
        trees = [call_tree(side, allocation_charges(side, step_allocations(side))) for side in sides]
        if any(tree.children for tree in trees):  # a memory snapshot has no calls
            for tree, side in zip(trees, sides, strict=True):
                describe(tree, side.trace)
            tables[MEMORY_CALLS.name] = memory_calls(trees[0], trees[1], _steps(sides, confidence), names)
    if MEMORY_PEAK.name in wanted and (peaks := _both(sides, peak_sums, MEMORY_PEAK.name, lacking)):
        tables[MEMORY_PEAK.name] = peak_table(peaks[0], peaks[1])
    if API.name in wanted and (called := _both(sides, host_time, API.name, lacking)):
        tables[API.name] = api_table(called[0], called[1], _steps(sides, confidence))
    if RUNTIME_CALLS.name in wanted and (calls := _both(sides, runtime_calls, RUNTIME_CALLS.name, lacking)):
        tables[RUNTIME_CALLS.name] = table_of_amounts(RUNTIME_CALLS, calls[0], calls[1], _steps(sides, confidence))
    if PER_CALL.name in wanted and (each := _both(sides, call_times, PER_CALL.name, lacking)):
        tables[PER_CALL.name] = per_call_table(each[0], each[1], names, confidence)
    return tables, tuple(lacking), works


def _comparable_units(sides: Sides, wanted: frozenset[str]) -> tuple[frozenset[str], list[UncomparedTable]]:
    """The tables whose sums are of the same kind on both sides, and the others: a step is no whole recording."""
    units = {side.unit for side in sides}
    if len(units) == 1:
        return wanted, []
    kept = {MEMORY_PEAK.name} if "none" in units else {MEMORY_PEAK.name, PER_CALL.name}
    if units <= {"step", "host step"}:
        kept |= {API.name, RUNTIME_CALLS.name, MEMORY.name, MEMORY_CALLS.name}
    if units <= {"step", "window"}:
        kept.add(OVERALL.name)
    first, second = (UNIT_WORDS[side.unit] for side in sides)
    message = said("{first} can't be held against {second}", first=first, second=second)
    left = dict.fromkeys(name for level in LEVELS.values() for name in level if name in wanted - kept)
    return wanted & kept, [UncomparedTable(name, "between", message, UNIT_HINT) for name in left]


def step_counts(sides: Sides, confidence: float) -> StepCounts:
    """What sums over steps and devices of both sides are divided by."""
    return StepCounts(sides[0].times, sides[1].times, (sides[0].devices, sides[1].devices), confidence)


def _steps(sides: Sides, confidence: float) -> StepCounts:
    """How many steps the sums of each side are over; at least one."""
    return StepCounts(max(1, len(sides[0].steps)), max(1, len(sides[1].steps)), (1, 1), confidence)


def _compute(
    sides: Sides, wanted: frozenset[str], names: Mapping[str, str], shapes: bool, times: StepCounts
) -> tuple[dict[str, Table], dict[str, SideSums]]:
    """The tables of compute, and of each part that activities make up its sums by operator, kernel and class."""
    tables: dict[str, Table] = {}
    sums_of: dict[str, SideSums] = {}
    works = met(sides, (charged(sides[0]), charged(sides[1])), names)
    by: tuple[tuple[TableSchema, Callable[[Any, Any], dict[Any, Amount]]], ...] = (
        (COMPUTE_CLASSES, splits.by_class), (COMPUTE_OPERATORS, splits.by_shape if shapes else splits.by_operator),
        (COMPUTE_KERNELS, splits.by_kernel),
    )  # fmt: skip
    for schema, split in by:
        if schema.name in wanted:
            base, new = (split(side.trace, work) for side, work in zip(sides, works, strict=True))
            base = splits.renamed(base, names)
            tables[schema.name] = table_of_amounts(schema, base, new, times)
            if schema is COMPUTE_KERNELS:
                sums_of[BUSY[0]] = base, new
    if EXPOSED_WORK.name in wanted:
        exposed: list[dict[Any, Amount]] = [{}, {}]
        for part in BUSY[1:]:
            base, new = (splits.by_kernel(side.trace, work, part) for side, work in zip(sides, works, strict=True))
            sums_of[part] = splits.renamed(base, names), new
            for found, one in zip(exposed, sums_of[part], strict=True):
                found |= {(part, *key): amount for key, amount in one.items()}
        tables[EXPOSED_WORK.name] = table_of_amounts(EXPOSED_WORK, exposed[0], exposed[1], times)
    for schema, ask in ((KERNEL_SHAPES, kernel_shapes), (KERNEL_TYPES, kernel_types)):
        if schema.name in wanted:
            sums = [ask(side) for side in sides]
            tables[schema.name] = durations_table(schema, splits.renamed(sums[0], names), sums[1], times)
    if wanted & {*LEVELS["modules"], "compute_calls"}:
        base_tree, new_tree = (
            call_tree(side, compute_charges(side, work)) for side, work in zip(sides, works, strict=True)
        )
        if wanted & {COMPUTE_MODULES.name, COMPUTE_CALLS.name}:
            for tree, side in ((base_tree, sides[0]), (new_tree, sides[1])):
                describe(tree, side.trace)
        tables |= tree_tables(base_tree, new_tree, times, names, wanted)
    return tables, sums_of


def _both(
    sides: Sides, ask: Callable[[ComparedSide], T], table: str, lacking: list[UncomparedTable]
) -> tuple[T, T] | None:
    """The answers of both sides; None if one lacks what the question needs, which is noted."""
    found: list[T] = []
    missing: list[UncomparedTable] = []
    for name, side in zip(("base", "new"), sides, strict=True):
        try:
            found.append(ask(side))
        except MissingInputError as error:
            applies = error.needs is None or source_of(side.recording.reader).how(error.needs, True) is not None
            missing.append(UncomparedTable(table, name, error.message, error.hint, applies))
    if len({one.message for one in missing}) < len(missing):
        missing = [replace(missing[0], side="both", applies=any(one.applies for one in missing))]
    lacking += missing
    return (found[0], found[1]) if len(found) == 2 else None


def _exact(schema: TableSchema, sums: tuple[dict[PartKey, Amount], dict[PartKey, Amount]], times: StepCounts) -> Table:
    return table_of_amounts(schema, sums[0], sums[1], times)
