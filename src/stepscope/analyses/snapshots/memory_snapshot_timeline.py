"""The allocator's memory over time: reserved, in use, asked for."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.snapshots.memory_snapshot_levels import SnapshotLevels, snapshot_levels
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, ns, size
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: More points than a chart has pixels are of no use.
_POINTS: Final = 1000

ALLOCATOR_TIMELINE = TableSchema(
    "allocator_timeline",
    f"Memory of each device over the history of a snapshot, at up to {2 * _POINTS} points: of each of {_POINTS} "
    "stretches of equally many entries the points with the most and the least memory asked for.",
    (
        RANK,
        Column("device", "int32", "Device index."),
        ns("ts", "When."),
        Column("seq", "int64", "Entry of the history after which it was; -1 before the first."),
        size("reserved_bytes", "Bytes held from the device."),
        size("allocated_bytes", "Bytes of blocks that the program used; sizes of blocks that are gone are estimated by "
             "rounding up to 512 bytes.", nullable=False),
        size("active_bytes", "Those, and bytes of blocks that it freed but a queue may still use; likewise."),
        size("requested_bytes", "Bytes that the program had asked for and used."),
    ),
)  # fmt: skip


def allocator_timeline(trace: Trace) -> Table:
    """Follow the memory of each device.

    Raises:
        MissingInputError: The recording has no memory snapshot with a history.
    """
    rows: list[tuple[Any, ...]] = []
    for levels in snapshot_levels(trace):
        if levels.ts.size == 1:
            continue
        at = extremes(levels.requested, _POINTS)
        columns = (levels.ts, np.arange(-1, levels.ts.size - 1), *_series(levels))
        rows += [
            (trace.ranks[0], levels.device, *values) for values in zip(*(c[at].tolist() for c in columns), strict=True)
        ]
    if not rows:
        raise MissingInputError.of("history")
    return Table.from_rows(ALLOCATOR_TIMELINE, rows)


def extremes(values: Times, parts: int) -> Times:
    """Positions of the first maximum and the first minimum in each of `parts` equal stretches, ascending."""
    bounds = np.linspace(0, values.size, min(parts, values.size) + 1).astype(np.int64)
    found = [
        start + int(pick) for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        for pick in (values[start:end].argmax(), values[start:end].argmin())
    ]  # fmt: skip
    return np.unique(np.array(found, np.int64))


def _series(levels: SnapshotLevels) -> tuple[Times, ...]:
    return levels.reserved, levels.allocated, levels.active, levels.requested


ANALYSES = (Analysis(ALLOCATOR_TIMELINE, allocator_timeline),)
