"""How long the job waited for its data loaders."""

from __future__ import annotations

from stepscope.analyses.grouping import SUMMARY_SQL, by_name
from stepscope.analyses.needs import need_host
from stepscope.analyses.registry import Analysis
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, summary_columns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

DATALOADER = TableSchema(
    "dataloader",
    "One row per data loader; a call is the wait for one batch. Steps are measured on the host.",
    (
        *summary_columns("loader", "the durations of all steps"),
        RANK,
        count("steps", "Steps in which it was called."),
        ns("per_step_ns", "Wait inside steps over the number of all steps, rounded down."),
        fraction("share_of_steps", "Wait inside steps as a share of the durations of all steps."),
        ns("first_ns", "Wait for the first batch, which often starts the workers."),
        Column("later_median_ns", "int64", "Median wait for the later batches; null if there is none.", "ns", True),
        Column("later_max_ns", "int64", "Longest wait for a later batch; null if there is none.", "ns", True),
    ),
)

_SQL = f"""
WITH whole AS (SELECT count(*) AS all_steps, sum(dur) AS steps_ns FROM steps), calls AS (
    SELECT s.name_id, s.step, coalesce(s.dur, 0) AS dur,
        row_number() OVER (PARTITION BY s.name_id ORDER BY s.ts, s.id) = 1 AS first
    FROM spans s JOIN tracks t USING (track) WHERE t.kind = 'host' AND s.category = 'dataloader'
)
SELECT n.name, {SUMMARY_SQL}, coalesce(total_ns / nullif(any_value(steps_ns), 0), 0) AS share,
    count(DISTINCT step) AS steps,
    coalesce(sum(dur) FILTER (WHERE step IS NOT NULL), 0) AS inside,
    coalesce(inside // nullif(any_value(all_steps), 0), 0)::BIGINT AS per_step_ns,
    coalesce(inside / nullif(any_value(steps_ns), 0), 0) AS share_of_steps,
    max(dur) FILTER (WHERE first) AS first_ns, quantile_disc(dur, 0.5) FILTER (WHERE NOT first) AS later_median_ns,
    max(dur) FILTER (WHERE NOT first) AS later_max_ns
FROM calls c JOIN names n USING (name_id) CROSS JOIN whole GROUP BY n.name ORDER BY total_ns DESC, n.name
"""


def dataloader(trace: Trace) -> Table:
    """Sum up the waits for each data loader.

    Raises:
        MissingInputError: The recording shows no data loader.
    """
    need_host(trace, ("dataloader",), "loader")
    return by_name(trace, DATALOADER, _SQL)


ANALYSES = (Analysis(DATALOADER, dataloader),)
