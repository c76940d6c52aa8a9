"""What the counters of AI cores say, by type of kernel: shares of pipes, bandwidths, conflicts, cache hits."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import TableSchema, count, fraction, ns, number, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

CORE_METRICS: Final = TableSchema(
    "core_metrics",
    "One row per type of kernel, core and counter of the profiler's set of AI Core metrics (`aic_metrics`), over the "
    "whole recording, types with the most time first.",
    (
        RANK,
        text("name", "Type of the kernel, its name where none is recorded."),
        text("core", "Kind of core, as recorded; null if not.", nullable=True),
        text("metric", "Counter, as recorded: `aic_` cube cores, `aiv_` vector cores."),
        text("unit", "share (0 to 1), bytes/s, bytes, ns, or count."),
        number("mean", "Mean over kernels, weighted by their time; of times and counts the plain mean."),
        number("least", "Least of a kernel."),
        number("most", "Most of a kernel."),
        count("count", "How many kernels it was counted of."),
        ns("total_ns", "Their time."),
        fraction("share", "The same as a share of all compute kernels."),
    ),
)

#: Counters that are zero throughout say that a kernel has no such part: they have no row.
_SQL: Final = """
WITH all_ AS (SELECT sum(dur)::DOUBLE AS ns FROM kernels WHERE kind = 'compute'),
told AS (
    SELECT coalesce(k.op_type, k.name) AS name, k.core, m.metric, m.value, greatest(k.dur, 0) AS dur,
        CASE WHEN m.metric LIKE '%\\_bw%' ESCAPE '\\' THEN 'bytes/s'
            WHEN regexp_matches(m.metric, '_ratio|_rate$|utilization') THEN 'share'
            WHEN m.metric LIKE '%\\_time' ESCAPE '\\' THEN 'ns'
            WHEN m.metric LIKE '%\\_datas' ESCAPE '\\' THEN 'bytes' ELSE 'count' END AS unit
    FROM kernel_metrics m JOIN kernels k USING (event)
    WHERE k.kind = 'compute' AND isfinite(m.value) AND NOT contains(m.metric, ' ')
)
SELECT name, core, metric, unit, CASE WHEN unit IN ('share', 'bytes/s') AND sum(dur) > 0
        THEN sum(value * dur) / sum(dur) ELSE avg(value) END AS mean,
    min(value) AS least, max(value) AS most, count(*) AS number, sum(dur)::BIGINT AS total,
    coalesce(sum(dur) / nullif(any_value(all_.ns), 0), 0) AS share
FROM told, all_ GROUP BY name, core, metric, unit
HAVING most > 0 OR least < 0
ORDER BY total DESC, name, core, metric
"""


def core_metrics(trace: Trace) -> Table:
    """Sum up the counters of AI cores.

    Raises:
        MissingInputError: The recording has none.
    """
    rows = trace.rows(_SQL)
    if not rows:
        raise MissingInputError.of("core_counters")
    rank = trace.ranks[0]
    return Table.from_rows(CORE_METRICS, [(rank, *row.values()) for row in rows])


ANALYSES = (Analysis(CORE_METRICS, core_metrics),)
