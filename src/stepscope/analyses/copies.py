"""Copies and sets: how much, how fast, between which kinds of memory, and whether the host waited."""

from __future__ import annotations

from stepscope.analyses.grouping import SHARE_SQL, SUMMARY_SQL, by_name
from stepscope.analyses.needs import need_device
from stepscope.analyses.registry import Analysis
from stepscope.analyses.runtime_calls import BLOCKING_COPIES_SQL, blocking_names
from stepscope.model.schema import Column, TableSchema, ns, number, size, summary_columns
from stepscope.model.table import Table
from stepscope.model.tables import COPIES as RECORDED
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

COPIES = TableSchema(
    "copies",
    "One row per direction and kinds of memory; `name` says both.",
    (
        *summary_columns("kind of copy", "the durations of all copies and sets; concurrent ones each count in full"),
        RANK,
        RECORDED["direction"],
        RECORDED["src_kind"],
        RECORDED["dst_kind"],
        size("bytes", "Bytes moved or set, as far as recorded; null if for none.", nullable=True),
        size("min_bytes", "Smallest.", nullable=True),
        size("median_bytes", "Median size (the lower of the two middle ones).", nullable=True),
        size("max_bytes", "Largest.", nullable=True),
        number("bandwidth", "Bytes over duration of those whose bytes are recorded and whose duration is not 0; null "
               "if there is none.", "bytes/s", nullable=True),
        Column("blocking", "int64", "Copies that the launch call waited for; null if no launch is recorded.", "count",
               nullable=True),
        ns("blocked_ns", "Host time of those calls."),
    ),
)  # fmt: skip

_SQL = f"""
WITH blocking AS ({BLOCKING_COPIES_SQL}), rows AS (
    SELECT coalesce(c.direction, CASE k.kind WHEN 'set' THEN 'set' ELSE 'unknown' END) AS direction, c.src_kind,
        c.dst_kind, coalesce(c.bytes, k.bytes) AS bytes, k.dur, k.launch IS NOT NULL AS launched,
        b.event IS NOT NULL AS blocked, CASE WHEN b.event IS NOT NULL THEN coalesce(s.dur, 0) ELSE 0 END AS call
    FROM kernels k LEFT JOIN copies c ON c.event = k.event LEFT JOIN blocking b ON b.event = k.event
    LEFT JOIN spans s ON s.id = b.launch
    WHERE k.kind IN ('copy', 'set')
)
SELECT *, {SHARE_SQL} FROM (
    SELECT CASE WHEN src_kind IS NULL AND dst_kind IS NULL THEN direction
            ELSE direction || ' (' || coalesce(src_kind, 'unknown') || ' -> ' || coalesce(dst_kind, 'unknown') || ')'
            END AS name,
        {SUMMARY_SQL}, direction, src_kind, dst_kind, sum(bytes)::BIGINT AS bytes, min(bytes) AS min_bytes,
        quantile_disc(bytes, 0.5) AS median_bytes, max(bytes) AS max_bytes,
        1e9 * sum(bytes) FILTER (WHERE dur > 0) / sum(dur) FILTER (WHERE dur > 0 AND bytes IS NOT NULL) AS bandwidth,
        CASE WHEN bool_or(launched) THEN count(*) FILTER (WHERE blocked) END AS blocking,
        sum(call)::BIGINT AS blocked_ns
    FROM rows GROUP BY direction, src_kind, dst_kind
) ORDER BY total_ns DESC, name
"""


def copies(trace: Trace) -> Table:
    """Sum up copies and sets; no rows for a job that has none.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    return by_name(trace, COPIES, _SQL, {"blocking": blocking_names(trace)})


ANALYSES = (Analysis(COPIES, copies),)
