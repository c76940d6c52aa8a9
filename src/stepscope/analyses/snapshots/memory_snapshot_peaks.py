"""Who held the memory of a snapshot's devices at the peak: by stack, by module, by category."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import by_name
from stepscope.analyses.snapshots.memory_snapshot_levels import snapshot_levels
from stepscope.model.schema import Column, TableSchema, count, fraction, ident, ns, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: An allocation lived briefly if it was freed when the allocator had done no more than so many other things: the
#: operators of a layer or two. What is kept for the backward pass lives through most of a step, of thousands.
BRIEF: Final = 64
#: What stands for who allocated what is older than the recording.
OLDER: Final = "older than the recording"

#: Copies of weights that autocast made and kept.
COPIED: Final = "weights cast by autocast"
#: What is captured in a graph keeps its place for as long as the graph is there; programs may have pools of their own.
POOLED: Final = "private pools"
#: Frames in which autocast frees those: where its outermost region ends.
AUTOCAST: Final = r"/autocast_mode\.py\(\d+\): __exit__$|clear_autocast_cache|at::autocast::clear_cache"

#: By what the stack tells, and how long it lived; what the recording states itself comes first.
_PURPOSE: Final = f"""
CASE
    WHEN before AND stack IS NULL AND freed_seq IS NOT NULL THEN '{OLDER}, freed during it'
    WHEN before AND stack IS NULL THEN '{OLDER}'
    WHEN category = 'parameter' THEN 'parameters'
    WHEN category = 'workspace' THEN 'workspaces'
    WHEN category = 'collective' THEN 'communication'
    WHEN category = 'data' THEN 'input data'
    WHEN category = 'autotune' THEN 'autotuning'
    WHEN cast_weight THEN '{COPIED}'
    WHEN pooled THEN '{POOLED}'
    WHEN coalesce(brief, false) THEN 'temporaries'
    WHEN category = 'kv_cache' THEN 'KV cache'
    WHEN category = 'optimizer' THEN 'optimizer state'
    WHEN category = 'forward' THEN 'activations'
    WHEN category = 'backward' THEN 'gradients'
    ELSE lower(replace(category, '_', ' '))
END"""

MEMORY_PEAK_STACKS = TableSchema(
    "memory_peak_stacks",
    "What was in use at the peak of each device of a memory snapshot, five times over: by call stack, source line, "
    "module, category and purpose. Each adds up to the peak.",
    (
        Column("device", "int32", "Device index."),
        RANK,
        ns("peak_ts", "When the peak was first reached."),
        text("by", "stack, line, module, category or purpose."),
        text(
            "name",
            "For a stack or line its place: the innermost frame of the user's code; without stack `older than the "
            "recording`, or `unknown`. A purpose goes by the category of the stack, and by how long the memory lived.",
        ),
        size("bytes", "Bytes that were asked for and in use."),
        count("count", "Allocations that they consist of."),
        fraction("share", "bytes as a share of the peak; 0 if that is 0."),
        size("before_bytes", "The part of `bytes` that was allocated before the history began."),
        ident("stack", "Row of `call_stacks`; null for all but stacks.", nullable=True),
        Column("frames", "string[]", "The stack, innermost frame first; else null.", "", True),
        size("largest_bytes", "The largest of the allocations."),
        size(
            "brief_bytes",
            f"The part of `bytes` that lived briefly: freed when the allocator had done no more than {BRIEF} other "
            "things.",
        ),
    ),
)

_SQL: Final = f"""
WITH told AS (
    SELECT coalesce(list(frame), []) AS told_frames FROM call_frames WHERE regexp_matches(text, '{AUTOCAST}', 'i')
), leaving AS (
    SELECT DISTINCT e.device, e.seq FROM allocator_events e JOIN call_stacks s USING (stack), told
    WHERE e.action IN ('free_requested', 'free') AND list_has_any(s.frames, told_frames)
), pools AS (
    SELECT device, address, address + bytes AS until FROM segments WHERE pool IS NOT NULL
), live AS (
    SELECT a.device, p.ts AS peak_ts, a.requested, a.seq IS NULL AS before, a.stack, s.place, s.module,
        coalesce(a.category, s.category, 'unknown') AS category, a.freed_seq - a.seq <= {BRIEF} AS brief, a.freed_seq,
        l.seq IS NOT NULL AND a.seq IS NOT NULL AS cast_weight, EXISTS (
            FROM pools g WHERE g.device = a.device AND a.address >= g.address AND a.address < g.until
        ) AS pooled
    FROM allocations a JOIN (
        SELECT unnest($devices) AS device, unnest($rows) AS row, unnest($ts) AS ts
    ) p USING (device) LEFT JOIN call_stacks s USING (stack)
    LEFT JOIN leaving l ON l.device = a.device AND l.seq = a.freed_seq
    WHERE coalesce(a.seq, -1) < p.row AND (a.freed_seq IS NULL OR a.freed_seq >= p.row)
), placed AS (
    SELECT *, coalesce(place, CASE WHEN before THEN '{OLDER}' ELSE 'unknown' END) AS line, {_PURPOSE} AS purpose
    FROM live
), settled AS (
    -- An optimizer that is not in place puts new parameters where the old ones were: then no older ones are left.
    SELECT * REPLACE (CASE WHEN purpose = 'optimizer state' AND NOT bool_or(
            purpose = 'parameters' OR starts_with(purpose, '{OLDER}')
        ) OVER (PARTITION BY device) THEN 'parameters and optimizer state' ELSE purpose END AS purpose)
    FROM placed
), named AS (
    UNPIVOT (
        SELECT device, peak_ts, coalesce(stack, -1) AS stack_id, requested, before, brief, line AS stack, line,
            coalesce(module, 'unknown') AS module, category, purpose
        FROM settled
    ) ON stack, line, module, category, purpose INTO NAME "by" VALUE name
), summed AS (
    SELECT device, peak_ts, "by", name, CASE WHEN "by" = 'stack' AND stack_id >= 0 THEN stack_id END AS stack,
        sum(requested)::BIGINT AS bytes, count(*) AS count,
        coalesce(sum(requested) FILTER (WHERE before), 0)::BIGINT AS before_bytes,
        max(requested) AS largest_bytes, coalesce(sum(requested) FILTER (WHERE brief), 0)::BIGINT AS brief_bytes
    FROM named GROUP BY 1, 2, 3, 4, 5
), framed AS (
    SELECT stack, list(text ORDER BY nth) AS frames
    FROM (SELECT stack, unnest(frames) AS frame, generate_subscripts(frames, 1) AS nth FROM call_stacks
        WHERE stack IN (SELECT stack FROM summed)) JOIN call_frames USING (frame) GROUP BY stack
)
SELECT s.*, f.frames,
    coalesce(s.bytes / nullif(sum(s.bytes) OVER (PARTITION BY s.device, s."by"), 0), 0)::DOUBLE AS share
FROM summed s LEFT JOIN framed f USING (stack)
ORDER BY s.device, array_position(['stack', 'line', 'module', 'category', 'purpose'], s."by"), s.bytes DESC, s.name,
    s.stack
"""


def memory_peak_stacks(trace: Trace) -> Table:
    """List who held the memory at each device's peak.

    Raises:
        MissingInputError: The recording has no memory snapshot.
    """
    levels = snapshot_levels(trace)
    return held_at(
        trace, [level.device for level in levels], [level.peak for level in levels],
        [int(level.ts[level.peak]) for level in levels],
    )  # fmt: skip


def held_at(trace: Trace, devices: Sequence[int], rows: Sequence[int], ts: Sequence[int]) -> Table:
    """Who held the memory at a given moment: a table like `memory_peak_stacks`.

    Args:
        trace: The trace.
        devices: The devices.
        rows: For each of them, how many entries of its history came before the moment.
        ts: And when that was.
    """
    return by_name(trace, MEMORY_PEAK_STACKS, _SQL, {"devices": list(devices), "rows": list(rows), "ts": list(ts)})


ANALYSES = (Analysis(MEMORY_PEAK_STACKS, memory_peak_stacks),)
