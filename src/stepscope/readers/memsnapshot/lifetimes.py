"""From the order of allocations and frees to the life of each allocation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]

#: Codes of the actions that matter here; anything else is OTHER.
ALLOC, FREE_REQUESTED, FREE_COMPLETED, OTHER = 0, 1, 2, 3

#: In place of a row: what never happened, and what happened before the history.
NEVER, BEFORE = -1, -2


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """One element per allocation, in the order in which they first appear.

    Attributes:
        made: Row of the alloc; BEFORE if it is older than the history.
        freed: Row at which the program let go of it; NEVER, or BEFORE if only the end of the free is in the history.
        reusable: Row at which it was usable again, or NEVER.
        address: Its address.
        unfreed: How many addresses were allocated again though no free of them was recorded.
    """

    made: Int
    freed: Int
    reusable: Int
    address: Int
    unfreed: int

    @property
    def first(self) -> Int:
        """Row at which each first appears."""
        rows = np.stack([self.made, self.freed, self.reusable])
        first: Int = np.where(rows < 0, np.iinfo(np.int64).max, rows).min(axis=0)
        return first


def lifetimes(action: NDArray[Any], address: Int) -> Lifetimes:
    """Pair allocations with their frees.

    An allocation is made by `alloc`, let go of by `free_requested` and usable again by `free_completed`. Any of the
    three may be missing, at the ends of the history or where it lost entries. An address that is allocated
    again without a free counts as freed at that moment.

    Args:
        action: One of the codes for each row of a device's history.
        address: Address for each row.
    """
    rows = np.flatnonzero(action != OTHER)
    rows = rows[np.argsort(address[rows], kind="stable")]
    acts, places = action[rows], address[rows]
    before = np.full(rows.size, -1, np.int64)
    before[1:] = np.where(places[1:] == places[:-1], acts[:-1], -1)
    start = (
        (before == -1)
        | (acts == ALLOC)
        | ((acts == FREE_REQUESTED) & (before != ALLOC))
        | ((acts == FREE_COMPLETED) & (before == FREE_COMPLETED))
    )
    owner = np.cumsum(start) - 1
    count = int(owner[-1]) + 1 if rows.size else 0

    def row_of(code: int) -> Int:
        found = np.full(count, NEVER, np.int64)
        mine = acts == code
        found[owner[mine]] = rows[mine]
        return found

    made, freed, reusable = row_of(ALLOC), row_of(FREE_REQUESTED), row_of(FREE_COMPLETED)
    made[made < 0] = BEFORE
    again = np.flatnonzero(start & (acts == ALLOC) & (before == ALLOC))
    freed[owner[again] - 1] = rows[again]
    reusable[owner[again] - 1] = rows[again]
    pending = np.flatnonzero(start & (acts == ALLOC) & (before == FREE_REQUESTED))
    reusable[owner[pending] - 1] = rows[pending]
    freed = np.where(freed >= 0, freed, np.where((made >= 0) | (reusable < 0), reusable, BEFORE))
    result = Lifetimes(made, freed, reusable, places[start], int(again.size))
    order = np.argsort(result.first, kind="stable")
    return Lifetimes(made[order], freed[order], reusable[order], result.address[order], result.unfreed)


def running(size: int, base: int, added: Int, added_at: Int, removed: Int, removed_at: Int) -> Int:
    """A total after each of `size` rows, which is `base` before them.

    Args:
        size: Number of rows.
        base: The total before the first row.
        added: Amounts that are added.
        added_at: Row of each; negative ones are part of the base already.
        removed: Amounts that are taken away.
        removed_at: Row of each; negative ones never are.
    """
    change = np.zeros(size, np.int64)
    np.add.at(change, added_at[added_at >= 0], added[added_at >= 0])
    np.subtract.at(change, removed_at[removed_at >= 0], removed[removed_at >= 0])
    total: Int = base + np.cumsum(change)
    return total
