"""Named host ranges projected on the device: from the first to the last activity launched in each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, ordered_table, shares, texts
from stepscope.analyses.shared.host_tree import host_tree
from stepscope.analyses.shared.needs import need_calls, need_device
from stepscope.model.schema import TableSchema, count, ns, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

_CATEGORIES: Final = ("annotation", "step", "module", "op", "dataloader")

PROJECTED_RANGES = TableSchema(
    "projected_ranges",
    "One row per named range of host code in which device work was launched. Its time on the device reaches from the "
    "start of the first activity launched in it, on its own thread, to the end of the last one: ranges overlap each "
    "other there, and contain what else the device did and where it was idle.",
    (
        *summary_columns("range", "the sum of all rows; since ranges overlap, only good for comparison"),
        RANK,
        text("category", f"One of: {', '.join(_CATEGORIES)}."),
        ns("host_ns", "Sum of the ranges' durations on the host."),
        count("activities", "Device activities launched in the ranges."),
        ns("device_ns", "Sum of the activities' durations."),
    ),
)

_WORK_SQL = """
SELECT launch, min(ts) AS first, max(ts + dur) AS last, count(*) AS activities, sum(dur)::BIGINT AS device_ns
FROM kernels WHERE kind <> 'sync' AND launch IS NOT NULL GROUP BY launch
"""
_LAUNCHES_SQL = "SELECT DISTINCT launch FROM kernels WHERE kind <> 'sync' AND launch IS NOT NULL"
_NEVER: Final = np.iinfo(np.int64).max


def projected_ranges(trace: Trace) -> Table:
    """Project ranges on the device and sum them up by name; no rows if nothing is launched in any range.

    Raises:
        MissingInputError: The recording has no device activity, or no calls of a device runtime.
    """
    need_device(trace)
    need_calls(trace)
    tree = host_tree(trace, _CATEGORIES, _LAUNCHES_SQL)
    rows = trace.columns(_WORK_SQL)
    at = tree.positions(rows["launch"])
    known = at >= 0
    first, last = np.full(tree.id.size, _NEVER), np.full(tree.id.size, -1)
    activities, device = np.zeros(tree.id.size, np.int64), np.zeros(tree.id.size, np.int64)
    for values, name in ((first, "first"), (last, "last"), (activities, "activities"), (device, "device_ns")):
        values[at[known]] = rows[name][known]
    first, last = tree.over_subtrees(first, np.minimum), tree.over_subtrees(last, np.maximum)
    chosen = np.flatnonzero((tree.category >= 0) & (last >= 0))
    groups = Groups.by(tree.name[chosen], tree.category[chosen])
    summary = groups.summary(last[chosen] - first[chosen])
    columns: dict[str, Any] = {
        **summary,
        "name": texts(trace, tree.name[chosen][groups.first]),
        "share": shares(summary["total_ns"], int(summary["total_ns"].sum())),
        "rank": np.full(groups.count.size, trace.ranks[0], np.int32),
        "category": [_CATEGORIES[code] for code in tree.category[chosen][groups.first].tolist()],
        "host_ns": groups.sum(tree.dur[chosen]),
        "activities": groups.sum(tree.roll_up(activities)[chosen]),
        "device_ns": groups.sum(tree.roll_up(device)[chosen]),
    }
    return ordered_table(PROJECTED_RANGES, columns, ("category",))


ANALYSES = (Analysis(PROJECTED_RANGES, projected_ranges),)
