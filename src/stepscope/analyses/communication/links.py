"""Bytes, time and bandwidth of collectives per link and pair of ranks."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import SHARE_SQL, SUMMARY_SQL, by_name
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import TableSchema, ns, number, size, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import COMM_TASKS, RANK
from stepscope.model.trace import Trace

LINKS: Final = TableSchema(
    "links",
    "Parts of collectives that moved data, by link, transport, pair of ranks and plane, over the whole recording. "
    "Times of planes overlap each other.",
    (
        *summary_columns("link, such as HCCS or ROCE", "the time of all parts that moved data"),
        RANK,
        text("transport", "How data is moved: SDMA, RDMA, ...; null if not recorded.", nullable=True),
        COMM_TASKS["src"],
        COMM_TASKS["dst"],
        COMM_TASKS["plane"],
        size("bytes", "Sum of the bytes moved."),
        size("median_bytes", "Median (the lower of the two middle ones) of the bytes of one part."),
        number("bandwidth", "bytes / total_ns; null where no part took time.", "bytes/s", nullable=True),
        number("best_bandwidth", "Bandwidth of the fastest part; null likewise.", "bytes/s", nullable=True),
        ns("wait_ns", "Time in which the plane waited for the other rank of the pair, before or between transfers."),
    ),
)

_SQL: Final = f"""
WITH parts AS (
    SELECT coalesce(t.link, t.transport, 'unknown') AS name, t.transport, t.src, t.dst, t.plane, t.kind,
        coalesce(t.bytes, 0) AS bytes, coalesce(s.dur, 0) AS dur
    FROM comm_tasks t JOIN spans s ON s.id = t.event
), waits AS (
    SELECT src, dst, plane, sum(dur)::BIGINT AS wait_ns FROM parts WHERE kind = 'wait' GROUP BY ALL
), moved AS (
    SELECT name, transport, src, dst, plane, {SUMMARY_SQL}, sum(bytes)::BIGINT AS bytes,
        quantile_disc(bytes, 0.5)::BIGINT AS median_bytes, 1e9 * sum(bytes) / nullif(sum(dur), 0) AS bandwidth,
        max(1e9 * bytes / nullif(dur, 0)) AS best_bandwidth
    FROM parts WHERE bytes > 0 GROUP BY name, transport, src, dst, plane
)
SELECT m.*, {SHARE_SQL.replace("total_ns", "m.total_ns")}, coalesce(w.wait_ns, 0)::BIGINT AS wait_ns
FROM moved m LEFT JOIN waits w ON w.src IS NOT DISTINCT FROM m.src AND w.dst IS NOT DISTINCT FROM m.dst
    AND w.plane IS NOT DISTINCT FROM m.plane
ORDER BY m.total_ns DESC, m.name, m.transport, m.src, m.dst, m.plane
"""


def links(trace: Trace) -> Table:
    """Sum up what the parts of collectives moved.

    Raises:
        MissingInputError: The recording has no collective, or none whose parts were recorded with sizes.
    """
    if not trace.scalar("SELECT count(*) FROM collectives"):
        raise MissingInputError.of("collectives")
    if not trace.scalar("SELECT count(*) FROM comm_tasks WHERE bytes > 0"):
        raise MissingInputError.of("links")
    return by_name(trace, LINKS, _SQL)


ANALYSES = (Analysis(LINKS, links),)
