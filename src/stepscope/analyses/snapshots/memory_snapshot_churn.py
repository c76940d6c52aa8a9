"""How often the allocator took segments from the device and gave them back, and which sizes recur."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import by_name
from stepscope.analyses.snapshots.memory_snapshot_levels import snapshot_devices
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, count, ns, number, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

SEGMENT_CHURN = TableSchema(
    "segment_churn",
    "Segments taken from the device and given back during the history of a memory snapshot: one row per device and "
    "kind, then one per size, the most often taken first. Giving back waits for the device to be idle.",
    (
        Column("device", "int32", "Device index."),
        RANK,
        text("kind", "segment, or mapping: a part of an expandable segment."),
        size("bytes", "Size of the segments; null for all sizes together.", nullable=True),
        count("taken", "How often such a segment was taken from the device."),
        size("taken_bytes", "Their bytes."),
        count("given_back", "How often one was given back."),
        count("taken_again", "How often one of the size was taken after one had been given back: needless."),
        number(
            "calls_per_1000_allocs", "Taken and given back per thousand allocations; null without any.", nullable=True
        ),
        ns("at_most_ns", "Time since the entry before, summed up: the calls themselves took no longer."),
    ),
)

#: Of one size, what was taken without one given back before is the most that were held above the start at a time.
_SQL: Final = """
WITH calls AS (
    SELECT device, seq, bytes, ts - lag(ts, 1, ts) OVER (PARTITION BY device ORDER BY seq) AS since,
        action IN ('segment_alloc', 'segment_map') AS taken,
        CASE WHEN action IN ('segment_map', 'segment_unmap') THEN 'mapping' ELSE 'segment' END AS kind,
        action
    FROM allocator_events
), held AS (
    SELECT *, sum(CASE WHEN taken THEN 1 ELSE -1 END) OVER (PARTITION BY device, kind, bytes ORDER BY seq) AS held
    FROM calls WHERE starts_with(action, 'segment_')
), sizes AS (
    SELECT device, kind, bytes, count(*) FILTER (WHERE taken) AS taken,
        coalesce(sum(bytes) FILTER (WHERE taken), 0)::BIGINT AS taken_bytes,
        count(*) FILTER (WHERE NOT taken) AS given_back,
        count(*) FILTER (WHERE taken) - greatest(0, max(held))::BIGINT AS taken_again,
        sum(since)::BIGINT AS at_most_ns
    FROM held GROUP BY device, kind, bytes
), all_sizes AS (
    SELECT * FROM sizes
    UNION ALL BY NAME
    SELECT device, kind, NULL AS bytes, sum(taken)::BIGINT AS taken, sum(taken_bytes)::BIGINT AS taken_bytes,
        sum(given_back)::BIGINT AS given_back, sum(taken_again)::BIGINT AS taken_again,
        sum(at_most_ns)::BIGINT AS at_most_ns
    FROM sizes GROUP BY device, kind
), allocs AS (
    SELECT device, nullif(count(*), 0) AS allocs FROM allocator_events WHERE action = 'alloc' GROUP BY device
)
SELECT s.*, 1000 * (s.taken + s.given_back) / a.allocs AS calls_per_1000_allocs
FROM all_sizes s LEFT JOIN allocs a USING (device)
ORDER BY s.device, s.kind DESC, s.bytes IS NOT NULL, s.taken + s.given_back DESC, s.bytes DESC
"""


def segment_churn(trace: Trace) -> Table:
    """Count segments taken and given back; no rows if there were none during the history.

    Raises:
        MissingInputError: The recording has no memory snapshot with a history.
    """
    snapshot_devices(trace)
    if not trace.scalar("SELECT count(*) FROM allocator_events WHERE action = 'alloc' OR action LIKE 'segment_%'"):
        raise MissingInputError.of("history")
    return by_name(trace, SEGMENT_CHURN, _SQL)


ANALYSES = (Analysis(SEGMENT_CHURN, segment_churn),)
