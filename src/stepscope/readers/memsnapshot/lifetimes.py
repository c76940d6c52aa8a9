"""Lifetimes of allocations from the order of allocations and frees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]

#: Codes of the actions that matter here; anything else is OTHER.
ALLOC, FREE_REQUESTED, FREE_COMPLETED, OTHER = 0, 1, 2, 3

#: In place of a row: never, and before the history.
NEVER, BEFORE = -1, -2


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """One element per allocation, in order of first appearance.

    Attributes:
        made: Row of the alloc; BEFORE if it is older than the history.
        freed: Row at which the program freed it; NEVER, or BEFORE if only the free's completion is in the history.
        reusable: Row at which its memory was reusable; NEVER if it was not.
        address: Its address.
        unfreed: Number of addresses allocated again without a recorded free.
    """

    made: Int
    freed: Int
    reusable: Int
    address: Int
    unfreed: int

    @property
    def first(self) -> Int:
        """Row at which each allocation first appears."""
        rows = np.stack([self.made, self.freed, self.reusable])
        first: Int = np.where(rows < 0, np.iinfo(np.int64).max, rows).min(axis=0)
        return first


def lifetimes(action: NDArray[Any], address: Int) -> Lifetimes:
    """Pair allocations with their frees.

    The life of an allocation is `alloc`, `free_requested`, `free_completed`. Any of these may be missing, at the ends
    of the history or where it lost entries. An address allocated again without a free counts as freed then.

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
    """Running total after each of `size` rows.

    Args:
        size: Number of rows.
        base: The total before the first row.
        added: Amounts added.
        added_at: Row of each; amounts at negative rows are included in the base.
        removed: Amounts removed.
        removed_at: Row of each; amounts at negative rows are never removed.
    """
    change = np.zeros(size, np.int64)
    np.add.at(change, added_at[added_at >= 0], added[added_at >= 0])
    np.subtract.at(change, removed_at[removed_at >= 0], removed[removed_at >= 0])
    total: Int = base + np.cumsum(change)
    return total
