"""Replays of captured graphs: one host call, many kernels, often outside every operator."""

from __future__ import annotations

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import SHARE_SQL, SUMMARY_SQL, by_name
from stepscope.analyses.shared.needs import need_device
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, summary_columns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

GRAPHS = TableSchema(
    "graphs",
    "One row per graph: replays with the same kernels are replays of one graph. `count` are its replays, durations are "
    "the sums of the durations of a replay's device activities.",
    (
        *summary_columns("launch call", "the device time of all graphs"),
        RANK,
        Column("graph", "int32", "Number of the graph, in the order of first replays.", "id"),
        count("kernels", "Device activities per replay."),
        ns("span_ns", "From each replay's first start to its last end, summed up."),
        ns("host_ns", "Host time of the launch calls."),
        count("unattributed", "Device activities, over all replays, that belong to no operator."),
        ns("unattributed_ns", "Sum of their durations."),
        fraction("device_share", "total_ns as a share of all device time, graphs or not."),
        fraction("unattributed_share", "unattributed_ns as a share of all device time."),
    ),
)

_SQL = f"""
WITH replays AS (
    SELECT graph, count(*) AS kernels, sum(dur)::BIGINT AS dur, max(ts + dur) - min(ts) AS span,
        sum(hash(name) % 4294967296) AS signature, count(*) FILTER (WHERE op IS NULL) AS loose,
        coalesce(sum(dur) FILTER (WHERE op IS NULL), 0)::BIGINT AS loose_ns
    FROM kernels WHERE graph IS NOT NULL AND kind <> 'sync' GROUP BY graph
), device AS (SELECT sum(dur) AS dur FROM kernels WHERE kind <> 'sync')
SELECT * EXCLUDE (first), (row_number() OVER (ORDER BY first, name) - 1)::INTEGER AS graph, {SHARE_SQL} FROM (
    SELECT n.name, {SUMMARY_SQL}, kernels, sum(span)::BIGINT AS span_ns, sum(call)::BIGINT AS host_ns,
        sum(loose)::BIGINT AS unattributed, sum(loose_ns)::BIGINT AS unattributed_ns, min(ts) AS first,
        coalesce(total_ns / nullif((SELECT dur FROM device), 0), 0) AS device_share,
        coalesce(sum(loose_ns) / nullif((SELECT dur FROM device), 0), 0) AS unattributed_share
    FROM (
        SELECT r.*, s.name_id, s.ts, coalesce(s.dur, 0) AS call FROM replays r JOIN spans s ON s.id = r.graph
    ) JOIN names n USING (name_id) GROUP BY n.name, kernels, signature
) ORDER BY total_ns DESC, name, graph
"""


def graphs(trace: Trace) -> Table:
    """Sum up replays of graphs; no rows for a job that uses none.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    if not DeviceWork.of(trace).in_graph.any():
        return Table.empty(GRAPHS)
    return by_name(trace, GRAPHS, _SQL)


ANALYSES = (Analysis(GRAPHS, graphs),)
