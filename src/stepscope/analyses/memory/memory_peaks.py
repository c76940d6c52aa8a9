"""Peak memory: how much, and when."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.memory.memory_levels import DEVICE, memory_levels
from stepscope.analyses.registry import Analysis
from stepscope.model.schema import Column, TableSchema, count, flag, fraction, ns, size
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MEMORY_PEAKS = TableSchema(
    "memory_peaks",
    "One row per device with recorded allocations, and one for host memory.",
    (
        RANK,
        DEVICE,
        size("total_bytes", "Memory of the device; null if not recorded.", nullable=True),
        size("peak_bytes", "Most bytes in use at a time."),
        flag("peak_is_lower_bound", "Whether totals were not recorded, so that what was allocated before is missing, "
             "or a history lacks its start."),
        ns("peak_ts", "When that was first reached."),
        Column("peak_step", "int32", "Step in which it was; null outside every step.", "", True),
        fraction("peak_share", "peak_bytes / total_bytes; null if not recorded.", nullable=True),
        size("peak_reserved_bytes", "Most bytes held by the caching allocator; null if not recorded.", nullable=True),
        ns("peak_reserved_ts", "When that was first reached; null likewise.", nullable=True),
        Column("peak_reserved_step", "int32", "Step in which it was; null outside every step.", "", True),
        fraction("reserved_share", "peak_reserved_bytes / total_bytes; null if not recorded.", nullable=True),
        size("traced_bytes", "The part of peak_bytes whose allocation was recorded: what `memory_holders` tells apart; "
             "null if addresses were not recorded.", nullable=True),
        count("allocations", "Recorded allocations."),
        count("frees", "Recorded frees."),
    ),
)  # fmt: skip


#: What readers of memory snapshots say of histories that begin late or lost their start.
_PARTIAL_SQL: Final = """
SELECT count(*) FROM health
WHERE code IN ('history-lost', 'history-late', 'history-older', 'history-full', 'no-history', 'truncated') AND EXISTS (
    FROM allocator_events)
"""
_STEPS_SQL: Final = "SELECT step, ts, ts + dur AS stop FROM steps ORDER BY ts"


def memory_peaks(trace: Trace) -> Table:
    """Find the peak of each device.

    Raises:
        MissingInputError: The recording has no allocations.
    """
    sizes = {row["device"]: row["memory_bytes"] for row in trace.rows("SELECT * FROM devices")}
    steps = trace.columns(_STEPS_SQL)
    partial = bool(trace.scalar(_PARTIAL_SQL))
    rows: list[tuple[Any, ...]] = []
    for levels in memory_levels(trace):
        total = None if levels.device is None else sizes.get(levels.device)
        top, held = int(levels.allocated.argmax()), int(levels.reserved.argmax())
        peak, reserved = int(levels.allocated[top]), int(levels.reserved[held])
        live = levels.live(top)
        held_ts = int(levels.ts[held]) if reserved >= 0 else None
        rows.append(
            (
                trace.ranks[0], levels.device, total, peak, levels.rebuilt or partial, int(levels.ts[top]),
                _step(steps, int(levels.ts[top])), peak / total if total else None,
                reserved if reserved >= 0 else None, held_ts, None if held_ts is None else _step(steps, held_ts),
                reserved / total if total and reserved >= 0 else None,
                None if live is None else int(levels.bytes[live].sum()),
                int((levels.bytes > 0).sum()), int((levels.bytes < 0).sum()),
            )
        )  # fmt: skip
    return Table.from_rows(MEMORY_PEAKS, rows)


def _step(steps: dict[str, NDArray[Any]], ts: int) -> int | None:
    at = int(np.searchsorted(steps["ts"], ts, side="right")) - 1
    return int(steps["step"][at]) if at >= 0 and ts < steps["stop"][at] else None


ANALYSES = (Analysis(MEMORY_PEAKS, memory_peaks),)
