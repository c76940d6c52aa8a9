"""Device memory by step: peak, and bytes in use at start and end."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.analyses.memory.memory_levels import MemoryLevels, memory_levels
from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, count, flag, ns, size
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MEMORY_STEPS: Final = TableSchema(
    "memory_steps",
    "One row per device and step of recordings with allocations of device memory; none without steps.",
    (
        RANK,
        Column("device", "int32", "Device index."),
        Column("step", "int32", "Step, as in `steps`."),
        ns("ts", "When the step began on the host."),
        flag("partial", "Whether it is cut by the recording's start or end."),
        size("begin_bytes", "Bytes in use when it began."),
        size("peak_bytes", "Most bytes in use within it."),
        size("end_bytes", "Bytes in use when it ended on the host."),
        count("allocations", "Recorded allocations within it."),
    ),
)


def memory_steps(trace: Trace) -> Table:
    """Follow the memory from step to step.

    Raises:
        MissingInputError: The recording has no allocations of device memory.
    """
    steps = Steps.of(trace)
    found = np.flatnonzero(steps.found)
    devices = [levels for levels in memory_levels(trace) if levels.device is not None]
    if not devices:
        raise MissingInputError.of("allocations")
    rows = [row for levels in devices for row in _rows(trace.ranks[0], levels, steps, found)]
    return Table.from_rows(MEMORY_STEPS, rows)


def _rows(rank: int, levels: MemoryLevels, steps: Steps, found: Times) -> list[tuple[Any, ...]]:
    first = np.searchsorted(levels.ts, steps.ts[found])
    last = np.searchsorted(levels.ts, steps.stop[found], side="right")
    rows: list[tuple[Any, ...]] = []
    for at, low, high in zip(found.tolist(), first.tolist(), last.tolist(), strict=True):
        # The level after the last change before the step; before the first change, that change undone.
        start = int(levels.allocated[low - 1]) if low else max(int(levels.allocated[0] - levels.bytes[0]), 0)
        inside = levels.allocated[low:high]
        rows.append(
            (
                rank, levels.device, int(steps.step[at]), int(steps.ts[at]), bool(steps.partial[at]), start,
                max(start, int(inside.max(initial=0))), int(inside[-1]) if inside.size else start,
                int((levels.bytes[low:high] > 0).sum()),
            )
        )  # fmt: skip
    return rows


ANALYSES = (Analysis(MEMORY_STEPS, memory_steps),)
