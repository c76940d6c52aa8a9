"""Device memory by the operator that allocated it: how often, how much, and for how long."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.memory.memory_levels import MemoryLevels, memory_levels
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, texts
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.schema import Column, TableSchema, count, ns, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MEMORY_OPERATORS: Final = TableSchema(
    "memory_operators",
    "One row per device and operator that allocated device memory, the one with most bytes first.",
    (
        RANK,
        Column("device", "int32", "Device index."),
        text("name", "Innermost operator around the allocation; null outside operators.", nullable=True),
        count("count", "Recorded allocations."),
        size("bytes", "Sum of their sizes."),
        size("largest_bytes", "The largest of them."),
        count("freed", "How many of them were freed while the recording lasted."),
        ns("lifetime_ns", "Sum of the times from allocation to free, of those that were freed."),
    ),
)
#: Operators that allocate for the one around them and do nothing else.
ALLOCATORS: Final = frozenset({
    "empty_tensor", "aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty",
    "aten::new_empty_strided", "aten::resize_", "npu::empty_with_format", "aten::empty_with_format",
    "npu::unsafe_empty_with_format", "inductor_empty_strided",
})  # fmt: skip


def memory_operators(trace: Trace) -> Table:
    """Sum up allocations by operator.

    Raises:
        MissingInputError: The recording has no allocations of device memory, but at most totals.
    """
    rows: list[tuple[object, ...]] = []
    for levels in memory_levels(trace):
        made = np.flatnonzero(levels.bytes > 0)
        if levels.device is None or not made.size:
            continue
        operator = allocating_operators(trace, levels.owner[made])
        freed, lifetime = lifetimes(levels, made)
        groups = Groups.by(operator)
        columns = (
            texts(trace, operator[groups.first]), groups.count.tolist(), groups.sum(levels.bytes[made]).tolist(),
            groups.most(levels.bytes[made]).tolist(), groups.sum(freed).tolist(), groups.sum(lifetime).tolist(),
        )  # fmt: skip
        found = zip(*columns, strict=True)
        rows += [
            (trace.ranks[0], levels.device, *row) for row in sorted(found, key=lambda row: (-row[2], row[0] or ""))
        ]
    if not rows:
        raise MissingInputError.of("allocations")
    return Table.from_rows(MEMORY_OPERATORS, rows)


def enclosing(trace: Trace, events: NDArray[np.int64], *categories: str) -> NDArray[np.int64]:
    """Positions in `Spans` of the innermost event of these categories around each event, itself included; else -1."""
    spans = Spans(trace)
    wanted = spans.of(*categories)
    at = spans.rows(events).astype(np.int64)
    while (going := np.flatnonzero(at >= 0)[~wanted[at[at >= 0]]]).size:
        at[going] = spans.around[at[going]]
    return at


def allocating_operators(trace: Trace, owners: NDArray[np.int64], *, past_wrappers: bool = False) -> NDArray[np.int64]:
    """`name_id` of the innermost operator around each of these events, -1 if there is none.

    Args:
        trace: The trace of a rank.
        owners: Events.
        past_wrappers: Name the first operator around those that do nothing but allocate (`ALLOCATORS`), if any.
    """
    at = enclosing(trace, owners, "op")
    spans = Spans(trace)
    if past_wrappers:
        names = [name_id for name_id, name in trace.once(names_by_id).items() if name in ALLOCATORS]
        left, wrapper = at >= 0, np.isin(spans.name, names) & spans.of("op")
        while (going := np.flatnonzero(left)[wrapper[at[left]]]).size:
            outer = enclosing(trace, _ids(spans, spans.around[at[going]]), "op")
            left[going] = outer >= 0
            at[going] = np.where(outer >= 0, outer, at[going])
    found = np.full(at.size, -1, np.int64)
    found[at >= 0] = spans.name[at[at >= 0]]
    return found


def _ids(spans: Spans, rows: NDArray[Any]) -> NDArray[np.int64]:
    return np.where(rows >= 0, spans.id[rows], -1).astype(np.int64)


def lifetimes(levels: MemoryLevels, made: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Whether each allocation was freed, and after how long: the next change at its address is its free."""
    order = np.lexsort((np.arange(levels.ts.size), levels.address))
    after = np.full(levels.ts.size, -1, np.int64)
    same = (np.diff(levels.address[order]) == 0) & (levels.address[order[1:]] != -1)
    after[order[:-1][same]] = order[1:][same]
    then = after[made]
    freed = (then >= 0) & (levels.bytes[then] < 0)
    return freed.astype(np.int64), np.where(freed, levels.ts[then] - levels.ts[made], 0)


ANALYSES = (Analysis(MEMORY_OPERATORS, memory_operators),)
