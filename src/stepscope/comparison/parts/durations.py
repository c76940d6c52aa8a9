"""Durations of both sides by key: their sums per step, and the longest and shortest one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepscope.comparison.parts.amounts import BESIDE, Amount, beside
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
    """

    ns: int
    count: int
    longest: int
    shortest: int

    def __add__(self, other: Durations) -> Durations:
        return Durations(self.ns + other.ns, self.count + other.count, max(self.longest, other.longest),
                         min(self.shortest, other.shortest))  # fmt: skip


#: Columns of every table of durations beside each other.
EXTREMES: Final = (
    ns("base_max_ns", "The longest of the base; null where it has none.", nullable=True),
    ns("new_max_ns", "The longest of the new one; null likewise.", nullable=True),
    ns("base_min_ns", "The shortest of the base; null likewise.", nullable=True),
    ns("new_min_ns", "The shortest of the new one; null likewise.", nullable=True),
)
BESIDE_DURATIONS: Final = (*BESIDE, *EXTREMES)


def durations_table(
    schema: TableSchema, base: Mapping[Any, Durations], new: Mapping[Any, Durations], times: tuple[int, int]
) -> Table:
    """A table of both sides by keys that are the schema's first columns; the others are `BESIDE_DURATIONS`."""
    sums = [{key: Amount(one.ns, one.count) for key, one in side.items()} for side in (base, new)]
    rows = []
    for row in beside(sums[0], sums[1], times):
        first, second = base.get(row.key), new.get(row.key)
        rows.append((*row.key, *row.values, *_either(first, second, "longest"), *_either(first, second, "shortest")))
    return Table.from_rows(schema, rows)


def merged(rows: Sequence[tuple[Any, ...]], keys: int) -> dict[Any, Durations]:
    """Rows of `keys` key columns, sum, count, longest and shortest, as durations by key."""
    found: dict[Any, Durations] = {}
    for row in rows:
        one = Durations(*(int(value) for value in row[keys:]))
        found[row[:keys]] = found[row[:keys]] + one if row[:keys] in found else one
    return found


def _either(base: Durations | None, new: Durations | None, what: str) -> tuple[int | None, int | None]:
    return (None if base is None else getattr(base, what)), (None if new is None else getattr(new, what))
