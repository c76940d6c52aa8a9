"""Why an allocation failed: too little memory, fragmentation, a limit, or another process."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.registry import Analysis
from stepscope.analyses.snapshots.memory_snapshot_layout import FreeLayout, layout
from stepscope.analyses.snapshots.memory_snapshot_levels import SnapshotLevels, snapshot_levels
from stepscope.analyses.snapshots.memory_snapshot_stacks import STACK_COLUMNS, described
from stepscope.model.schema import Column, TableSchema, ident, ns, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: A process that holds less than this share of a device's known memory is not what fills it.
_OWN_SHARE: Final = 0.5

OUT_OF_MEMORY = TableSchema(
    "out_of_memory",
    "One row per failed allocation in the history of a memory snapshot; none if none failed.",
    (
        Column("device", "int32", "Device index."),
        RANK,
        ns("ts", "When."),
        text(
            "verdict",
            "fragmentation: enough was free within the segments, but not in one range. limit: the device had enough "
            "free, so a limit of the process or of the driver stopped it. another process: even all that this process "
            "held would not have been enough. shortage: this process itself had used up the memory. unknown: the "
            "request is not recorded.",
        ),
        size("requested_bytes", "What was asked for; null if not recorded.", nullable=True),
        size("device_free_bytes", "Free on the device; null if not recorded.", nullable=True),
        size("reserved_bytes", "Held by the allocator."),
        size("used_bytes", "Asked for by the program and in use."),
        size("free_bytes", "In the segments but in no active block."),
        size("stranded_bytes", "Of those, in segments that are in use."),
        size("largest_free_bytes", "The largest free range of a segment; sizes of blocks gone since are estimates."),
        ident("stack", "Row of `call_stacks`; null if unknown.", nullable=True),
        *STACK_COLUMNS,
    ),
)

_SQL: Final = """
SELECT seq, ts, bytes, device_free, coalesce(stack, -1) AS stack FROM allocator_events
WHERE device = ? AND action = 'oom' ORDER BY seq
"""


def out_of_memory(trace: Trace) -> Table:
    """Judge every failed allocation.

    Raises:
        MissingInputError: The recording has no memory snapshot.
    """
    memory = {row["device"]: row["memory_bytes"] for row in trace.rows("SELECT * FROM devices")}
    rows: list[tuple[Any, ...]] = []
    for levels in snapshot_levels(trace):
        for event in trace.rows(_SQL, [levels.device]):
            rows.append(_row(trace, levels, event, memory.get(levels.device)))
    stacks = described(trace, [row[-1] for row in rows])
    return Table.from_rows(
        OUT_OF_MEMORY, [(*row[:-1], None if row[-1] < 0 else row[-1], *stacks[row[-1]]) for row in rows]
    )


def _row(trace: Trace, levels: SnapshotLevels, event: dict[str, Any], memory: int | None) -> tuple[Any, ...]:
    here = layout(trace, levels, event["seq"])
    return (
        levels.device, trace.ranks[0], event["ts"], verdict(event["bytes"], event["device_free"], here, memory),
        event["bytes"], event["device_free"], here.reserved, int(levels.requested[event["seq"]]), here.free,
        here.free - here.releasable, here.largest, event["stack"],
    )  # fmt: skip


def verdict(requested: int | None, device_free: int | None, held: FreeLayout, memory: int | None = None) -> str:
    """Why a request failed.

    Args:
        requested: Bytes asked for.
        device_free: Bytes free on the device; None if not recorded.
        held: What the allocator held.
        memory: The device's memory; None if not known.
    """
    if requested is None:
        return "unknown"
    if held.free >= requested:
        return "fragmentation"
    if device_free is None:
        return "shortage"
    if device_free >= requested:
        return "limit"
    if requested > held.reserved + device_free or (memory and held.reserved < _OWN_SHARE * memory):
        return "another process"
    return "shortage"


ANALYSES = (Analysis(OUT_OF_MEMORY, out_of_memory),)
