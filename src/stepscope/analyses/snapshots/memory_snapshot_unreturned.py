"""Memory allocated and never freed during the history: candidates for leaks, by call stack."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.registry import Analysis
from stepscope.analyses.snapshots.memory_snapshot_levels import snapshot_devices
from stepscope.analyses.snapshots.memory_snapshot_stacks import STACK_COLUMNS, described
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, count, flag, fraction, ident, ns, size
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: A leak shows in at least so many steps; parameters and optimizer state stay from the first step only.
_LEAST_STEPS: Final = 3

MEMORY_UNRETURNED = TableSchema(
    "memory_unreturned",
    "What the program allocated during the history of a memory snapshot and had not freed at its end, by call stack, "
    "the most bytes first. It is not all leaked: parameters and what the last step still needs are here as well.",
    (
        Column("device", "int32", "Device index."),
        RANK,
        flag(
            "is_candidate",
            f"Whether it grows: in {_LEAST_STEPS} steps or more after the first, and in at least half of them; null "
            "without steps, since one step's own memory can't be distinguished from a leak.",
            nullable=True,
        ),
        size("bytes", "Bytes that were asked for."),
        count("count", "Allocations."),
        fraction("share", "bytes as a share of all that is in use at the end."),
        ns("first_ts", "When the first of them was made."),
        ns("last_ts", "When the last was made."),
        Column("steps", "int64", "Steps after the first that left some behind; null without steps.", "count", True),
        Column(
            "bytes_per_step",
            "int64",
            "Mean of the bytes that each step after the first left behind, the last step left out since it may not be "
            "over; null with fewer than three steps.",
            "bytes",
            True,
        ),
        ident("stack", "Row of `call_stacks`; null if unknown.", nullable=True),
        *STACK_COLUMNS,
    ),
)

#: Steps during the history: a recording of the same rank may have others.
_DURING: Final = """
FROM steps, (SELECT min(ts) AS first, max(ts) AS last FROM allocator_events) h
WHERE source <> 'whole' AND steps.ts <= h.last AND steps.ts + steps.dur >= h.first
"""
_STEPS_SQL: Final = f"SELECT count(*) {_DURING}"

_SQL: Final = f"""
WITH kept AS (
    SELECT a.device, coalesce(a.stack, -1) AS stack, a.requested, a.ts, s.step
    FROM allocations a
    ASOF LEFT JOIN (
        SELECT row_number() OVER (ORDER BY ts) - 1 AS step, ts {_DURING}
    ) s ON a.ts >= s.ts
    WHERE a.seq IS NOT NULL AND a.freed_seq IS NULL
), used AS (
    SELECT device, sum(requested) AS bytes FROM allocations WHERE freed_seq IS NULL GROUP BY device
)
SELECT k.device, sum(k.requested)::BIGINT AS bytes, count(*) AS count,
    coalesce(sum(k.requested) / nullif(any_value(u.bytes), 0), 0)::DOUBLE AS share,
    min(k.ts) AS first_ts, max(k.ts) AS last_ts,
    count(DISTINCT k.step) FILTER (WHERE k.step > 0) AS steps,
    coalesce(sum(k.requested) FILTER (WHERE k.step > 0 AND k.step < $steps - 1), 0)::BIGINT AS later, k.stack
FROM kept k JOIN used u USING (device) GROUP BY k.device, k.stack ORDER BY k.device, bytes DESC, k.stack
"""


def memory_unreturned(trace: Trace) -> Table:
    """Sum up allocations that were never freed.

    Raises:
        MissingInputError: The recording has no memory snapshot with a history.
    """
    snapshot_devices(trace)
    if not trace.scalar("SELECT count(*) FROM allocations WHERE seq IS NOT NULL"):
        raise MissingInputError.of("history")
    steps = int(trace.scalar(_STEPS_SQL) or 0)
    rows = trace.rows(_SQL, {"steps": steps})
    stacks = described(trace, [row["stack"] for row in rows])
    return Table.from_rows(MEMORY_UNRETURNED, [_row(trace.ranks[0], row, steps, stacks) for row in rows])


def _row(rank: int, row: dict[str, Any], steps: int, stacks: dict[int, tuple[Any, ...]]) -> tuple[Any, ...]:
    stack = row["stack"]
    candidate = row["steps"] >= max(_LEAST_STEPS, (steps - 1) / 2) if steps else None
    return (
        row["device"], rank, candidate, row["bytes"], row["count"], row["share"], row["first_ts"], row["last_ts"],
        row["steps"] if steps else None, row["later"] // (steps - 2) if steps >= 3 else None,
        None if stack < 0 else stack, *stacks[stack],
    )  # fmt: skip


ANALYSES = (Analysis(MEMORY_UNRETURNED, memory_unreturned),)
