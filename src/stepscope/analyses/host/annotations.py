"""Host and device time of what the user annotated, and of the data loader."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, ordered_table, shares, texts
from stepscope.analyses.shared.host_tree import host_tree
from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.model.schema import Column, TableSchema, ns, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

_CATEGORIES = ("annotation", "dataloader")
_NO_DEVICE = "Null if the recording has no device activity."

ANNOTATIONS = TableSchema(
    "annotations",
    "One row per annotated region of host code, over all threads.",
    (
        *(
            replace(column, description="Host time in it; a region inside one of the same name adds nothing.")
            if column.name == "total_ns"
            else column
            for column in summary_columns("region", "the time from the first host event to the end of the last one")
        ),
        RANK,
        text("category", "annotation or dataloader."),
        Column(
            "kernels", "int64", f"Device activities launched inside it on its own thread. {_NO_DEVICE}", "count", True
        ),
        ns("device_ns", f"Sum of their durations. {_NO_DEVICE}", nullable=True),
    ),
)

_LAUNCHES = "SELECT DISTINCT coalesce(launch, op) FROM kernels WHERE kind <> 'sync'"
_DEVICE_SQL = """
SELECT coalesce(launch, op) AS event, count(*) AS kernels, sum(dur)::BIGINT AS dur
FROM kernels WHERE kind <> 'sync' AND coalesce(launch, op) IS NOT NULL GROUP BY 1
"""


def annotated_regions(trace: Trace) -> Table:
    """Sum up annotated regions by name; no rows for a job that annotates nothing.

    Backward passes run on a thread of their own, so that what they launch is in no region of the main thread.
    """
    tree = host_tree(trace, _CATEGORIES, _LAUNCHES)
    region = tree.category >= 0
    rows = trace.columns(_DEVICE_SQL)
    at = tree.positions(rows["event"])
    kernels, device = np.zeros(tree.id.size, np.int64), np.zeros(tree.id.size, np.int64)
    np.add.at(kernels, at[at >= 0], rows["kernels"][at >= 0])
    np.add.at(device, at[at >= 0], rows["dur"][at >= 0])
    kernels, device = tree.roll_up(kernels)[region], tree.roll_up(device)[region]
    outermost = tree.outermost(region)[region]
    groups = Groups.by(tree.name[region], tree.category[region])
    none = pa.nulls(groups.count.size, pa.int64())
    columns: dict[str, Any] = {
        **groups.summary(tree.dur[region]),
        "name": texts(trace, tree.name[region][groups.first]),
        "total_ns": groups.sum(np.where(outermost, tree.dur[region], 0)),
        "rank": np.full(groups.count.size, trace.ranks[0], np.int32),
        "category": [_CATEGORIES[code] for code in tree.category[region][groups.first].tolist()],
        "kernels": groups.sum(np.where(outermost, kernels, 0)) if rows["event"].size else none,
        "device_ns": groups.sum(np.where(outermost, device, 0)) if rows["event"].size else none,
    }
    columns["share"] = shares(columns["total_ns"], _host_span(trace))
    return ordered_table(ANNOTATIONS, columns, ("category",))


def _host_span(trace: Trace) -> int:
    """Time from the first host event to the end of the last one."""
    events = trace.once(recorded_events)
    return int(events.last[events.host].max() - events.first[events.host].min()) if events.host.any() else 0


ANALYSES = (Analysis(ANNOTATIONS, annotated_regions),)
