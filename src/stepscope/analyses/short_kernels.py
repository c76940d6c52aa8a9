"""How device activities are distributed over durations: many short ones cost their launches more than their work."""

from __future__ import annotations

from stepscope.analyses.needs import need_device
from stepscope.analyses.registry import Analysis
from stepscope.model.schema import Column, TableSchema, count, fraction, ns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: Lower ends of the ranges of durations in µs: finer below 10, where launching costs more than running.
EDGES_US = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 200, 500, 1000)

SHORT_KERNELS = TableSchema(
    "short_kernels",
    "One row per range of durations with the kernels and collectives in it (not copies and sets), ascending; every "
    "kernel is in one row.",
    (
        RANK,
        ns("from_ns", "Shortest duration of the range."),
        Column("to_ns", "int64", "First duration beyond the range; null for the last one.", "ns", True),
        count("count", "Kernels in the range."),
        ns("total_ns", "Sum of their durations."),
        fraction("share_of_count", "count as a share of all kernels."),
        fraction("share_of_time", "total_ns as a share of the durations of all kernels."),
        ns("launch_ns", "Host time of the calls that launched them, as far as recorded; a call counts once, for its "
           "first kernel."),
    ),
)  # fmt: skip

_SQL = """
WITH edges AS (SELECT unnest($edges) * 1000 AS from_ns), ranges AS (
    SELECT from_ns, lead(from_ns) OVER (ORDER BY from_ns) AS to_ns FROM edges
), work AS (
    SELECT dur, CASE nth WHEN 1 THEN coalesce(launch_dur, 0) ELSE 0 END AS call_ns FROM (
        SELECT dur, launch_dur, row_number() OVER (PARTITION BY launch ORDER BY ts, event) AS nth
        FROM activities WHERE kind IN ('compute', 'comm')
    )
)
SELECT from_ns, to_ns, count(w.dur) AS count, coalesce(sum(w.dur), 0)::BIGINT AS total_ns,
    coalesce(sum(w.call_ns), 0)::BIGINT AS launch_ns
FROM ranges r LEFT JOIN work w ON w.dur >= from_ns AND (to_ns IS NULL OR w.dur < to_ns)
GROUP BY from_ns, to_ns ORDER BY from_ns
"""


def short_kernels(trace: Trace) -> Table:
    """Count kernels and sum up their time by duration.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    rows = trace.rows(_SQL, {"edges": list(EDGES_US)})
    number, time = sum(row["count"] for row in rows), sum(row["total_ns"] for row in rows)
    for row in rows:
        row["rank"] = trace.ranks[0]
        row["share_of_count"] = row["count"] / number if number else 0.0
        row["share_of_time"] = row["total_ns"] / time if time else 0.0
    return Table.from_rows(SHORT_KERNELS, [[row[name] for name in SHORT_KERNELS.names] for row in rows])


ANALYSES = (Analysis(SHORT_KERNELS, short_kernels),)
