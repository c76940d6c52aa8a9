"""Totals by name made by the profiler itself, for what the recording holds in no other form."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, fraction, ns, number, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

RECORDED_TOTALS: Final = TableSchema(
    "recorded_totals",
    "Totals by name out of the profiler's own tables, where the operators, calls or transfers that they sum up are not "
    "among the recorded events; without rows where all of them are.",
    (
        text("name", "An operator's type and core, a layer and call, or the link between two ranks of a group."),
        text("of", "operators, calls or links."),
        Column("count", "int64", "How many there are; null if not told.", "count", True),
        ns("total_ns", "Sum of their durations."),
        ns("mean_ns", "Mean duration; null if not told.", nullable=True),
        ns("min_ns", "Shortest duration; null if not told.", nullable=True),
        ns("max_ns", "Longest duration; null if not told.", nullable=True),
        fraction("share", "total_ns as a share of the total of the same kind.", nullable=True),
        RANK,
        size("bytes", "Bytes moved; null for what moves none.", nullable=True),
        number("bandwidth", "bytes / total_ns; null likewise.", "bytes/s", nullable=True),
    ),
)

#: By what is summed up: source in `recorded`, metrics (count, total, mean, least, most) with ns per unit, and what
#: tells that it is recorded otherwise. Links of a rank to itself are copies in its own memory.
_SQL: Final = """
WITH told AS (
    SELECT CASE source WHEN 'operators' THEN 'operators' WHEN 'api' THEN 'calls' ELSE 'links' END AS of,
        CASE source WHEN 'matrix' THEN coalesce(
            g.ranks[src + 1] || '-' || g.ranks[dst + 1] || ' ' || transport,
            src || '-' || dst || ' ' || transport || ' of group ' || right(key, 3), subject) ELSE subject END AS name,
        metric, value, CASE source WHEN 'matrix' THEN 1e6 ELSE 1e3 END AS unit
    FROM (SELECT *, regexp_extract(subject, '@(\\S+)', 1) AS key,
            try_cast(regexp_extract(subject, ' (\\d+)-\\d+ ', 1) AS INTEGER) AS src,
            try_cast(regexp_extract(subject, ' \\d+-(\\d+) ', 1) AS INTEGER) AS dst,
            regexp_extract(subject, ' \\d+-\\d+ (\\S+)$', 1) AS transport FROM recorded)
    LEFT JOIN (SELECT "group" AS key, any_value(ranks) AS ranks FROM groups GROUP BY 1) g USING (key)
    WHERE source = 'operators' AND NOT $kernels OR source = 'api' AND NOT $calls
        OR source = 'matrix' AND NOT $parts AND regexp_matches(subject, '-total@')
), summed AS (
    SELECT of, name, try_cast(sum(value) FILTER (WHERE metric = 'Count') AS BIGINT) AS count,
        try_cast(round(sum(value * unit) FILTER (WHERE metric IN ('Total Time(us)', 'Time(us)', 'Transit Time(ms)')))
            AS BIGINT) AS total_ns,
        try_cast(round(min(value * unit) FILTER (WHERE metric IN ('Min Time(us)', 'Min(us)'))) AS BIGINT) AS min_ns,
        try_cast(round(max(value * unit) FILTER (WHERE metric IN ('Max Time(us)', 'Max(us)'))) AS BIGINT) AS max_ns,
        try_cast(round(sum(value * 1e6) FILTER (WHERE metric = 'Transit Size(MB)')) AS BIGINT) AS bytes
    FROM told WHERE value >= 0 AND NOT (of = 'links' AND
        split_part(split_part(name, ' ', 1), '-', 1) = split_part(split_part(name, ' ', 1), '-', 2))
    GROUP BY ALL
)
SELECT name, of, count, total_ns, total_ns // nullif(count, 0) AS mean_ns, min_ns, max_ns,
    total_ns / nullif(sum(total_ns) OVER (PARTITION BY of), 0) AS share, bytes,
    CASE WHEN bytes > 0 AND total_ns > 0 THEN bytes * 1e9 / total_ns END AS bandwidth
FROM summed WHERE total_ns IS NOT NULL ORDER BY of, total_ns DESC, name
"""
_AT_HAND: Final = {
    "kernels": "SELECT count(*) > 0 FROM kernels WHERE kind = 'compute'",
    "calls": "SELECT count(*) > 0 FROM spans JOIN tracks t USING (track) WHERE t.kind = 'host' "
    "AND category IN ('runtime', 'launch', 'sync')",
    "parts": "SELECT count(*) > 0 FROM comm_tasks WHERE bytes > 0",
}


def recorded_totals(trace: Trace) -> Table:
    """List the totals.

    Raises:
        MissingInputError: The recording has none.
    """
    if not trace.scalar("SELECT count(*) FROM recorded WHERE source IN ('operators', 'api', 'matrix')"):
        raise MissingInputError.of("summaries")
    known = {name: bool(trace.scalar(query)) for name, query in _AT_HAND.items()}
    rows = trace.rows(_SQL, known)
    rank = trace.ranks[0]
    columns = [column.name for column in RECORDED_TOTALS.columns]
    return Table.from_rows(RECORDED_TOTALS, [tuple({**row, "rank": rank}[name] for name in columns) for row in rows])


ANALYSES = (Analysis(RECORDED_TOTALS, recorded_totals),)
