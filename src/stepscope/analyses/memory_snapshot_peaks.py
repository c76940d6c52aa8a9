"""Who held the memory of a snapshot's devices when most of it was in use: by stack, by module, by category."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.grouping import by_name
from stepscope.analyses.memory_snapshot_levels import snapshot_levels
from stepscope.analyses.registry import Analysis
from stepscope.model.schema import Column, TableSchema, count, fraction, ident, ns, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MEMORY_PEAK_STACKS = TableSchema(
    "memory_peak_stacks",
    "What was in use at the peak of each device of a memory snapshot, three times over: by call stack, by module and "
    "by category. Each adds up to the peak.",
    (
        Column("device", "int32", "Device index."),
        RANK,
        ns("peak_ts", "When the peak was first reached."),
        text("by", "stack, module or category."),
        text("name", "For a stack its place: the innermost frame of the user's code; `unknown` without stack."),
        size("bytes", "Bytes that were asked for and in use."),
        count("count", "Allocations that they consist of."),
        fraction("share", "bytes as a share of the peak; 0 if that is 0."),
        size("before_bytes", "The part of `bytes` that was allocated before the history began."),
        ident("stack", "Row of `call_stacks`; null for modules and categories.", nullable=True),
        Column("frames", "string[]", "The stack, innermost frame first; else null.", "", True),
    ),
)

_SQL: Final = """
WITH live AS (
    SELECT a.device, p.ts AS peak_ts, a.requested, a.seq IS NULL AS before, a.stack, s.place, s.module,
        coalesce(a.category, s.category, 'unknown') AS category
    FROM allocations a JOIN (
        SELECT unnest($devices) AS device, unnest($rows) AS row, unnest($ts) AS ts
    ) p USING (device) LEFT JOIN call_stacks s USING (stack)
    WHERE coalesce(a.seq, -1) < p.row AND (a.freed_seq IS NULL OR a.freed_seq >= p.row)
), named AS (
    SELECT device, peak_ts, 'stack' AS "by", coalesce(place, 'unknown') AS name, stack, requested, before FROM live
    UNION ALL SELECT device, peak_ts, 'module', coalesce(module, 'unknown'), NULL, requested, before FROM live
    UNION ALL SELECT device, peak_ts, 'category', category, NULL, requested, before FROM live
), summed AS (
    SELECT device, peak_ts, "by", name, stack, sum(requested)::BIGINT AS bytes, count(*) AS count,
        coalesce(sum(requested) FILTER (WHERE before), 0)::BIGINT AS before_bytes
    FROM named GROUP BY ALL
), framed AS (
    SELECT stack, list(text ORDER BY nth) AS frames
    FROM (SELECT stack, unnest(frames) AS frame, generate_subscripts(frames, 1) AS nth FROM call_stacks
        WHERE stack IN (SELECT stack FROM summed)) JOIN call_frames USING (frame) GROUP BY stack
)
SELECT s.*, f.frames,
    coalesce(s.bytes / nullif(sum(s.bytes) OVER (PARTITION BY s.device, s."by"), 0), 0)::DOUBLE AS share
FROM summed s LEFT JOIN framed f USING (stack)
ORDER BY s.device, array_position(['stack', 'module', 'category'], s."by"), s.bytes DESC, s.name, s.stack
"""


def memory_peak_stacks(trace: Trace) -> Table:
    """Tell who held the memory at each device's peak.

    Raises:
        MissingInputError: The recording has no memory snapshot.
    """
    levels = snapshot_levels(trace)
    parameters: dict[str, Any] = {
        "devices": [level.device for level in levels],
        "rows": [level.peak for level in levels],
        "ts": [int(level.ts[level.peak]) for level in levels],
    }
    return by_name(trace, MEMORY_PEAK_STACKS, _SQL, parameters)


ANALYSES = (Analysis(MEMORY_PEAK_STACKS, memory_peak_stacks),)
