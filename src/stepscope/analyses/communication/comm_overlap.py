"""Communication time overlapped with compute, per process group and in total."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import DeviceTime, device_times
from stepscope.model.intervals import Intervals
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

COMM_OVERLAP = TableSchema(
    "comm_overlap",
    "One row per device and process group, and one per device with `group` null for all of them, over the whole "
    "recording. Groups that communicate at the same time both count that time.",
    (
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        text("group", "Process group, `not recorded` where unknown; null for all groups.", nullable=True),
        count("count", "Collectives that ran on the device."),
        ns("comm_ns", "At least one collective of the group ran."),
        ns("overlapped_ns", "The part of comm_ns during which a compute kernel ran."),
        ns("exposed_ns", "comm_ns - overlapped_ns: what the step waited for."),
        fraction("overlap", "overlapped_ns as a share of comm_ns; null if that is 0.", nullable=True),
    ),
)

_SQL = """
SELECT coalesce(k.device, -1)::INTEGER AS device, k.ts, k.ts + k.dur AS stop,
    coalesce(c."group", 'not recorded') AS "group"
FROM kernels k LEFT JOIN collectives c ON c.event = k.event
WHERE k.kind = 'comm'
"""


def comm_overlap(trace: Trace) -> Table:
    """Measure how much communication compute hides; no rows for a device that does not communicate.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    rows = trace.columns(_SQL)
    groups, group = np.unique(rows["group"].astype(str), return_inverse=True)
    found: list[tuple[object, ...]] = []
    for device in trace.once(device_times):
        mine = rows["device"] == (-1 if device.device is None else device.device)
        if not mine.any():
            continue
        found.append((trace.ranks[0], device.device, None, *_overlap(device, device.comm, int(mine.sum()))))
        for index, name in enumerate(groups.tolist()):
            its = mine & (group == index)
            if its.any():
                comm = Intervals.union_of(rows["ts"][its], rows["stop"][its])
                found.append((trace.ranks[0], device.device, name, *_overlap(device, comm, int(its.sum()))))
    return Table.from_rows(COMM_OVERLAP, found)


def _overlap(device: DeviceTime, comm: Intervals, number: int) -> tuple[int, int, int, int, float | None]:
    total, hidden = comm.total, (comm & device.compute).total
    return number, total, hidden, total - hidden, hidden / total if total else None


ANALYSES = (Analysis(COMM_OVERLAP, comm_overlap),)
