"""Memory in use over time."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.analyses.memory.memory_levels import DEVICE, MemoryLevels, memory_levels
from stepscope.analyses.registry import Analysis
from stepscope.model.schema import TableSchema, flag, ns, size
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: Points per device; a screen shows no more.
MOST_POINTS: Final = 2000

MEMORY_TIMELINE = TableSchema(
    "memory_timeline",
    f"Memory over time. A device with more than {MOST_POINTS} allocations, frees and totals has one row for each of "
    "as many equal parts of the time in which there are any.",
    (
        RANK,
        DEVICE,
        ns("ts", "When; in a row for several, when most was in use."),
        size("allocated_bytes", "Bytes in use; in a row for several, the most."),
        size("least_allocated_bytes", "The same; in a row for several, the least."),
        size("reserved_bytes", "Bytes held by the caching allocator; in a row for several, the most. Null if not "
             "recorded.", nullable=True),
        flag("rebuilt", "Whether no totals were recorded, so that the numbers are sums of the recorded allocations and "
             "frees, without what was allocated before."),
    ),
)  # fmt: skip


def memory_timeline(trace: Trace) -> Table:
    """Draw memory over time.

    Raises:
        MissingInputError: The recording has no allocations.
    """
    rows = [row for levels in memory_levels(trace) for row in _points(trace.ranks[0], levels)]
    return Table.from_rows(MEMORY_TIMELINE, rows)


def _points(rank: int, levels: MemoryLevels) -> list[tuple[Any, ...]]:
    n = levels.ts.size
    part = np.arange(n)
    if n > MOST_POINTS:
        first, last = int(levels.ts[0]), int(levels.ts[-1])
        width = (last - first) // MOST_POINTS + 1
        part = (levels.ts - first) // width
    edges = np.flatnonzero(np.diff(part, prepend=-1))
    most = np.maximum.reduceat(levels.allocated, edges)
    least = np.minimum.reduceat(levels.allocated, edges)
    reserved = np.maximum.reduceat(levels.reserved, edges)
    # The first row of each part with the most in use.
    top = np.flatnonzero(levels.allocated == np.repeat(most, np.diff(np.append(edges, n))))
    when = levels.ts[top[np.searchsorted(top, edges)]]
    columns = (values.tolist() for values in (when, most, least, reserved))
    return [
        (rank, levels.device, ts, high, low, held if held >= 0 else None, levels.rebuilt)
        for ts, high, low, held in zip(*columns, strict=True)
    ]


ANALYSES = (Analysis(MEMORY_TIMELINE, memory_timeline),)
