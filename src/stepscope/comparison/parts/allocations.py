"""Allocations of device memory within a side's steps, by operator and by call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.memory.memory_levels import memory_levels
from stepscope.analyses.memory.memory_operators import allocating_operators, lifetimes
from stepscope.analyses.shared.grouping import Groups, texts
from stepscope.comparison.parts.amounts import BESIDE, CERTAIN_BYTES, Amount, StepCounts, beside
from stepscope.comparison.parts.batches import StepBatches
from stepscope.comparison.parts.shares import means
from stepscope.comparison.parts.splits import NO_OPERATOR
from stepscope.comparison.side import ComparedSide
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals, Times
from stepscope.model.schema import Column, TableSchema, ns, text
from stepscope.model.table import Table

#: Columns of every table of allocated bytes beside each other.
BESIDE_BYTES: Final = (
    Column("base_bytes", "int64", "Bytes allocated per step of the base.", "bytes"),
    Column("new_bytes", "int64", "The same of the new one.", "bytes"),
    Column("diff_bytes", "int64", "new_bytes - base_bytes.", "bytes", signed=True),
    Column("ratio", "float64", "new_bytes / base_bytes; null where base_bytes is 0.", "", True),
    *BESIDE[4:],
)
MEMORY: Final = TableSchema(
    "memory",
    "Device memory allocated per step by operator, the largest difference first.",
    (
        text(
            "name",
            "Innermost operator around the allocation that does more than allocate; `(no operator)` outside operators.",
        ),
        *BESIDE_BYTES,
        ns("base_held_ns", "Time from allocation to free per step of the base, of what was freed while it lasted."),
        ns("new_held_ns", "The same of the new one."),
        *CERTAIN_BYTES,
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class StepAllocations:
    """The n allocations of device memory within a side's steps.

    Attributes:
        owner: int64[n], event that made it, -1 if unknown.
        bytes: int64[n], size.
        held: int64[n], ns until it was freed; 0 where the recording does not tell.
        batch: int64[n], batch of steps that it belongs to.
        batches: The batches.
    """

    owner: NDArray[np.int64]
    bytes: NDArray[np.int64]
    held: Times
    batch: NDArray[np.int64]
    batches: StepBatches


def step_allocations(side: ComparedSide) -> StepAllocations:
    """The allocations of a side's steps; of a recording without steps all of them.

    Raises:
        MissingInputError: There are none of device memory, but at most totals.
    """
    steps = Steps.of(side.trace)
    chosen = np.isin(steps.step, side.steps)
    windows = Intervals.union_of(steps.ts[chosen], steps.stop[chosen])
    batches = StepBatches.of(side)
    found: list[tuple[NDArray[np.int64], ...]] = []
    known = False
    for levels in memory_levels(side.trace):
        made = np.flatnonzero(levels.bytes > 0)
        if levels.device is None or not made.size:
            continue
        known = True
        inside = np.ones(made.size, np.bool_) if side.unit in ("window", "none") else windows.at(levels.ts[made])
        _, held = lifetimes(levels, made)
        batch = batches.at_host(levels.ts[made])
        found.append((levels.owner[made][inside], levels.bytes[made][inside], held[inside], batch[inside]))
    if not known:
        raise MissingInputError.of("allocations")
    owner, sizes, held, batch = (np.concatenate(one) for one in zip(*found, strict=True))
    return StepAllocations(owner, sizes, held, batch, batches)


def memory_sums(side: ComparedSide) -> tuple[dict[Any, Amount], dict[Any, Amount]]:
    """Bytes, and how long they were held, with the number of allocations, by operator within a side's steps.

    Raises:
        MissingInputError: The recording has no allocations of device memory.
    """
    made = step_allocations(side)
    operator = allocating_operators(side.trace, made.owner, past_wrappers=True)
    groups = Groups.by(operator)
    names = [name or NO_OPERATOR for name in texts(side.trace, operator[groups.first])]
    found: list[dict[Any, Amount]] = []
    for values in (made.bytes, made.held):
        sums: defaultdict[Any, Amount] = defaultdict(Amount)
        for name, one in zip(names, made.batches.amounts(groups.index, made.batch, values, groups.count), strict=True):
            # Sizes are no measurements: what one step allocates it allocates exactly.
            sums[(name,)] += replace(one, squares=0.0)
        found.append(dict(sums))
    return found[0], found[1]


def memory_table(
    base: tuple[Mapping[Any, Amount], Mapping[Any, Amount]],
    new: tuple[Mapping[Any, Amount], Mapping[Any, Amount]],
    times: StepCounts,
) -> Table:
    """Compare allocations by operator."""
    rows = beside(base[0], new[0], times)
    held = [
        means([side[1].get(row.key, Amount()).ns for row in rows], number)
        for side, number in zip((base, new), times[:2], strict=True)
    ]
    return Table.from_rows(
        MEMORY, [(*row.key, *row.values, *each, *row.interval) for row, *each in zip(rows, *held, strict=True)]
    )
