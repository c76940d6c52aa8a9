"""Distribution of device activities by duration; many short ones cost more in launches than in work."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import shares
from stepscope.analyses.shared.needs import need_device
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.schema import Column, TableSchema, count, fraction, ns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: Lower ends of the ranges of durations in µs: finer below 10, where launching costs more than running.
EDGES_US = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 200, 500, 1000)

SHORT_KERNELS = TableSchema(
    "short_kernels",
    "One row per range of durations with the kernels and collectives in it (not copies and memsets), ascending; every "
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

_EDGES_NS = np.array(EDGES_US, np.int64) * 1000


def short_kernels(trace: Trace) -> Table:
    """Count kernels and sum up their time by duration.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    work = DeviceWork.of(trace)
    at = np.flatnonzero(work.are("compute", "comm"))
    at = at[np.lexsort((work.event[at], work.ts[at], work.launch[at]))]
    launch, dur = work.launch[at], work.dur[at]
    first = launch >= 0
    first[1:] &= launch[1:] != launch[:-1]
    into = np.searchsorted(_EDGES_NS, dur, side="right") - 1
    count = np.bincount(into, minlength=_EDGES_NS.size)
    total, call_ns = np.zeros_like(_EDGES_NS), np.zeros_like(_EDGES_NS)
    np.add.at(total, into, dur)
    np.add.at(call_ns, into[first], np.maximum(work.call_ns[at[first]], 0))
    columns = {
        "rank": np.full(_EDGES_NS.size, trace.ranks[0]),
        "from_ns": _EDGES_NS,
        "to_ns": [*_EDGES_NS[1:].tolist(), None],
        "count": count,
        "total_ns": total,
        "share_of_count": shares(count, at.size),
        "share_of_time": shares(total, int(dur.sum())),
        "launch_ns": call_ns,
    }
    return Table.of(SHORT_KERNELS, columns)


ANALYSES = (Analysis(SHORT_KERNELS, short_kernels),)
