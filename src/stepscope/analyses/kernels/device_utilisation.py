"""Share of each step in which the device had work, and how much of its SMs that work filled.

The two estimates are those of torch-tb-profiler's GPU summary: SM efficiency is the mean of min(blocks in flight / SMs,
1) over the step; achieved occupancy is the mean of the kernels' estimates weighted by duration.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import device_times, step_windows
from stepscope.analyses.shared.peaks import LIMITS_SQL
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, fraction, ns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

DEVICE_UTILISATION = TableSchema(
    "device_utilisation",
    "One row per device and step, and one per device with `step` null for the time from its first activity to its "
    "last.",
    (
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        Column("step", "int32", "Step, as in `steps`; null for the whole recorded device span.", "", True),
        ns("total_ns", "Length of the step on the devices, as in `step_budget`."),
        ns("kernel_ns", "At least one kernel ran, compute or collective."),
        fraction("utilisation", "kernel_ns / total_ns; null if no time passed.", nullable=True),
        fraction("sm_efficiency", "Mean over total_ns of min(blocks in flight / SMs, 1); null if grids or "
                 "the number of SMs are not recorded.", nullable=True),
        fraction("achieved_occupancy", "Mean of the kernels' estimated occupancy, weighted by duration; null if not "
                 "recorded.", nullable=True),
    ),
)  # fmt: skip

#: As a double, which overflows for no grid; more blocks than this fill every device.
_BLOCKS: Final = "coalesce(k.grid[1], 1)::DOUBLE * coalesce(k.grid[2], 1) * coalesce(k.grid[3], 1)"
_MOST_BLOCKS: Final = 2**31
_SQL: Final = f"""
SELECT coalesce(k.device, -1)::INTEGER AS device, k.ts, k.ts + k.dur AS stop, coalesce(k.step, -1)::INTEGER AS step,
    CASE WHEN k.grid IS NULL THEN 0::BIGINT
        ELSE greatest(least({_BLOCKS}, {_MOST_BLOCKS}), 0)::BIGINT END AS blocks,
    coalesce(k.occupancy, -1)::DOUBLE AS occupancy, coalesce(d.sms, 0) AS sms
FROM kernels k LEFT JOIN ({LIMITS_SQL}) d ON d.device IS NOT DISTINCT FROM k.device
WHERE k.kind IN ('compute', 'comm') AND k.dur > 0
"""

Columns = dict[str, NDArray[Any]]


def device_utilisation(trace: Trace) -> Table:
    """Measure how busy each device was in each step.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    windows, rows = trace.once(step_windows), trace.columns(_SQL)
    found: list[tuple[Any, ...]] = []
    for device in trace.once(device_times):
        index = -1 if device.device is None else device.device
        mine = {name: values[rows["device"] == index] for name, values in rows.items()}
        starts, ends = np.append(windows.starts, device.first), np.append(windows.ends, device.last)
        kernel = (device.compute | device.comm).within(starts, ends)
        filled, sms = _filled(mine, starts, ends)
        steps = [*windows.step.tolist(), None]
        occupancies = [*_occupancies(mine, windows.step), _occupancy(mine)]
        for i, (step, total) in enumerate(zip(steps, (ends - starts).tolist(), strict=True)):
            efficiency = int(filled[i]) / (sms * total) if sms and total else None
            busy = int(kernel[i])
            utilisation = busy / total if total else None
            found.append((trace.ranks[0], device.device, step, total, busy, utilisation, efficiency, occupancies[i]))
    return Table.from_rows(DEVICE_UTILISATION, found)


def _filled(rows: Columns, starts: Times, ends: Times) -> tuple[Times, int]:
    """Sum over each window of min(blocks in flight, SMs) x ns, and the number of SMs.

    The number is 0 where that is not known.
    """
    sms = int(rows["sms"].max(initial=0))
    if not sms or not rows["blocks"].any():
        return np.zeros(starts.size, np.int64), 0
    edges = np.concatenate((rows["ts"], rows["stop"]))
    change = np.concatenate((rows["blocks"], -rows["blocks"]))
    order = np.argsort(edges, kind="stable")
    edges = edges[order]
    level = np.minimum(np.cumsum(change[order]), sms)
    before = np.concatenate(([0], np.cumsum(level[:-1] * np.diff(edges))))

    def up_to(when: Times) -> Times:
        at = np.searchsorted(edges, when, side="right") - 1
        inside = np.maximum(at, 0)
        return np.where(at < 0, 0, before[inside] + level[inside] * (when - edges[inside]))

    return up_to(ends) - up_to(starts), sms


def _occupancies(rows: Columns, steps: NDArray[np.int32]) -> Iterator[float | None]:
    """`_occupancy` of each step."""
    order = np.argsort(rows["step"], kind="stable")
    ordered = {name: rows[name][order] for name in ("step", "ts", "stop", "occupancy")}
    edges = (np.searchsorted(ordered["step"], steps, side) for side in ("left", "right"))
    for low, high in zip(*(edge.tolist() for edge in edges), strict=True):
        yield _occupancy({name: values[low:high] for name, values in ordered.items()})


def _occupancy(rows: Columns) -> float | None:
    """Mean of the occupancies that are known, weighted by duration."""
    known = rows["occupancy"] >= 0
    weights = (rows["stop"] - rows["ts"])[known]
    return float(np.average(rows["occupancy"][known], weights=weights)) if weights.size else None


ANALYSES = (Analysis(DEVICE_UTILISATION, device_utilisation),)
