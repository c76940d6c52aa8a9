"""Durations of both sides by key: their sums per step, and the longest and shortest one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.parts.amounts import BESIDE, CERTAIN, Amount, StepCounts, beside
from stepscope.comparison.parts.batches import StepBatches
from stepscope.comparison.side import ComparedSide
from stepscope.model.schema import TableSchema, ns
from stepscope.model.table import Table


@dataclass(frozen=True, slots=True)
class Durations:
    """What a side has of something, over all of its steps and devices.

    Attributes:
        ns: Sum.
        count: How many.
        longest: The longest, ns.
        shortest: The shortest, ns.
        squares: Sum of their squares.
        by_batch: As of an `Amount`.
    """

    ns: int
    count: int
    longest: int
    shortest: int
    squares: float = field(default=0.0, compare=False)
    by_batch: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)

    @property
    def amount(self) -> Amount:
        """The sum and the number alone."""
        return Amount(self.ns, self.count, self.squares, self.by_batch)

    def __add__(self, other: Durations) -> Durations:
        both = self.amount + other.amount
        return Durations(both.ns, int(both.count), max(self.longest, other.longest), min(self.shortest, other.shortest),
                         both.squares, both.by_batch)  # fmt: skip


#: Columns of every table of durations beside each other.
EXTREMES: Final = (
    ns("base_max_ns", "The longest of the base; null where it has none.", nullable=True),
    ns("new_max_ns", "The longest of the new one; null likewise.", nullable=True),
    ns("base_min_ns", "The shortest of the base; null likewise.", nullable=True),
    ns("new_min_ns", "The shortest of the new one; null likewise.", nullable=True),
)
BESIDE_DURATIONS: Final = (*BESIDE, *EXTREMES, *CERTAIN)


def durations_table(
    schema: TableSchema, base: Mapping[Any, Durations], new: Mapping[Any, Durations], times: StepCounts
) -> Table:
    """A table of both sides by keys that are the schema's first columns; the others are `BESIDE_DURATIONS`."""
    sums = [{key: one.amount for key, one in side.items()} for side in (base, new)]
    rows = []
    for row in beside(sums[0], sums[1], times):
        first, second = base.get(row.key), new.get(row.key)
        rows.append((*row.key, *row.values, *_either(first, second, "longest"),
                     *_either(first, second, "shortest"), *row.interval))  # fmt: skip
    return Table.from_rows(schema, rows)


def merged(rows: Sequence[tuple[Any, ...]], keys: int, side: ComparedSide) -> dict[Any, Durations]:
    """Rows as durations by key.

    Args:
        rows: `keys` key columns, step, sum, count, longest, shortest and sum of squares.
        keys: How many columns are keys.
        side: Whose steps these are.
    """
    batches = StepBatches.of(side)
    at = dict(zip(side.steps, batches.batch.tolist(), strict=False))
    found: dict[Any, Durations] = {}
    for row in rows:
        total, number, longest, shortest = (int(value) for value in row[keys + 1 : keys + 5])
        by_batch = np.zeros(batches.size.size)
        i = at.get(row[keys], 0)
        by_batch[i] = total / batches.size[i]
        one = Durations(total, number, longest, shortest, float(row[keys + 5]), by_batch)
        found[row[:keys]] = found[row[:keys]] + one if row[:keys] in found else one
    return found


def _either(base: Durations | None, new: Durations | None, what: str) -> tuple[int | None, int | None]:
    return (None if base is None else getattr(base, what)), (None if new is None else getattr(new, what))
